// Runs the workflows of workflows.ts: TEMPORAL_ADDRESS and TASK_QUEUE say where.
import { NativeConnection, Worker } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';

const connection = await NativeConnection.connect({ address: process.env.TEMPORAL_ADDRESS });
const worker = await Worker.create({
  connection,
  taskQueue: process.env.TASK_QUEUE,
  workflowsPath: fileURLToPath(new URL('./workflows.ts', import.meta.url)),
  maxCachedWorkflows: Number(process.env.MAX_CACHED_WORKFLOWS ?? 0),
});
console.log('typescript worker is ready');
await worker.run();
await connection.close();
