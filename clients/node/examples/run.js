/*
 * What a crontab line of every server may call: it does the present tick of a task, once in the fleet.
 *
 *     node run.js TASK
 *
 * Exit code: 0 done here, 1 another node does it or has done it, 2 cannot tell, 3 misuse, 4 nobody may.
 */
import { connect } from '../index.js'; // 'zkleader' where it is installed

try {
	const { ran, reason } = await connect().run(process.argv[2], async (run) => {
		console.log(`the report of ${run.tick} with token ${run.token}`);
		run.check();
	});
	if (!ran)
		process.exitCode = reason === 'nobody' ? 4 : 1;
} catch (error) {
	console.error(error.message);
	process.exitCode = error.code ?? 2;
}
