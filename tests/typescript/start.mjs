// Begins a task by docs/task-log.md alone: TEMPORAL_ADDRESS, TASK_QUEUE, AGENT, OWNER and TEXT say
// which. Prints the task id.
import { Client, Connection } from '@temporalio/client';
import { defineSearchAttributeKey, TypedSearchAttributes } from '@temporalio/common';
import { createHash, randomUUID } from 'node:crypto';

const keyword = (name, value) => {
  const plain = /^[\p{L}\p{N}_ .:@/+=,~()#&!-]+$/u.test(value) && value === value.trim();
  const short = Buffer.byteLength(value) <= 200 && !value.startsWith('sha256:');
  const written = plain && short ? value : `sha256:${createHash('sha256').update(value).digest('hex')}`;
  return { key: defineSearchAttributeKey(name, 'KEYWORD'), value: written };
};

const { AGENT: agent, OWNER: owner = '', TEXT: text, TASK_QUEUE: taskQueue } = process.env;
const connection = await Connection.connect({ address: process.env.TEMPORAL_ADDRESS });
const taskId = randomUUID();
const contextId = randomUUID();
const at = new Date();

await new Client({ connection }).workflow.start('A2AAgentTask', {
  taskQueue,
  workflowId: taskId,
  workflowIdReusePolicy: 'REJECT_DUPLICATE',
  args: [{
    version: 1,
    task_id: taskId,
    context_id: contextId,
    agent,
    owner,
    tenant: '',
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }] },
    request: {},
    at: at.toISOString(),
    search_attributes: true,
  }],
  typedSearchAttributes: new TypedSearchAttributes([
    keyword('A2aAgent', agent),
    keyword('A2aOwner', owner),
    keyword('A2aTenant', ''),
    keyword('A2aContextId', contextId),
    keyword('A2aState', 'submitted'),
    { key: defineSearchAttributeKey('A2aUpdatedAt', 'DATETIME'), value: at },
  ]),
});
console.log(taskId);
await connection.close();
