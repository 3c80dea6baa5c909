package com.example;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.annotation.Scheduled;
import org.zkleader.Answer;
import org.zkleader.TaskLeader;
import org.zkleader.ZkLeader;

/** A job that one node of the fleet does each night, in Spring. */
@Configuration
@Conditional(LeaderCondition.class)
public class NightlyReport {
    private final ZkLeader zk = ZkLeader.connect();

    @Bean
    public TaskLeader reportLeader() {
        return new TaskLeader(zk, "nightly-report"); // was: new LeaderLatch(curator, "/leaders/nightly-report")
    }

    /** Short work: look once. */
    @Scheduled(cron = "0 0 2 * * *")
    public void cleanUp() {
        if (reportLeader().isLeader())
            deleteOldFiles();
    }

    /** Long work: look before each step, and hand the token to what compares it. */
    @Scheduled(cron = "0 30 2 * * *")
    public void report() {
        Answer answer = zk.leads("nightly-report");
        for (int tenant = 0; tenant < 100 && answer.leads(); tenant++) {
            reportOf(tenant, answer.token());
            answer = zk.leads("nightly-report");
        }
    }

    /** Once a tick in the whole fleet, whatever dies: the tick is claimed, and its end recorded. */
    @Scheduled(cron = "0 0 3 * * *")
    public void bill() {
        zk.run("nightly-bill", null, run -> {
            for (int tenant = 0; tenant < 100; tenant++) {
                run.check();
                billOf(tenant, run.token());
            }
        });
    }

    void deleteOldFiles() {
    }

    void reportOf(int tenant, long token) {
    }

    void billOf(int tenant, long token) {
    }
}
