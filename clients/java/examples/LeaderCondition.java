package com.example;

import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.zkleader.TaskLeader;

/**
 * A Spring condition: beans are there on the node alone that leads the task in the property {@code leader.task}, or
 * everywhere if there is none. Spring asks once, when the context is made. That suits a program that runs and ends;
 * one that stays has to look at each run as well, as {@link NightlyReport} does.
 */
public final class LeaderCondition implements Condition {
    @Override
    public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
        String task = context.getEnvironment().getProperty("leader.task");
        return task == null || new TaskLeader(task).isLeader();
    }
}
