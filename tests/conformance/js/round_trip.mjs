// A full round by an independent client: node round_trip.mjs URL BINDING
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { once } from "node:events";

import {
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
  TaskPushNotificationConfig,
} from "@a2a-js/sdk";
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";

const [url, binding] = process.argv.slice(2);
const transports = {
  JSONRPC: () => new JsonRpcTransportFactory(),
  "HTTP+JSON": () => new RestTransportFactory(),
  GRPC: () => new GrpcTransportFactory(),
};
const client = await new ClientFactory({
  transports: [transports[binding]()],
  preferredTransports: [binding],
}).createFromUrl(url);

const message = (text, more = {}) =>
  SendMessageRequest.fromJSON({
    message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], ...more },
  });
const state = (task) => Task.toJSON(task).status.state;
const collect = async (stream) => {
  const events = [];
  for await (const event of stream) events.push(StreamResponse.toJSON(event));
  return events;
};
const last = (events) => events.at(-1).statusUpdate.status.state;

// send
const done = await client.sendMessage(message("echo from js"));
assert.equal(state(done), "TASK_STATE_COMPLETED");
assert.match(JSON.stringify(Task.toJSON(done).artifacts), /from js/);
assert.equal(state(await client.getTask(GetTaskRequest.fromJSON({ id: done.id }))), state(done));

// stream
const streamed = await collect(client.sendMessageStream(message("chunks 5 16 0.05")));
assert.ok(streamed[0].task, JSON.stringify(streamed[0]));
assert.equal(last(streamed), "TASK_STATE_COMPLETED");

// input, on a subscription that was opened while the task waited
const asked = await client.sendMessage(message("ask colour?"));
assert.equal(state(asked), "TASK_STATE_INPUT_REQUIRED");
const subscription = client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id: asked.id }));
const first = await subscription.next();
assert.ok(StreamResponse.toJSON(first.value).task);
const answered = await client.sendMessage(message("red", { taskId: asked.id }));
assert.equal(state(answered), "TASK_STATE_COMPLETED");
assert.equal(last(await collect(subscription)), "TASK_STATE_COMPLETED");

// cancel
const parked = await client.sendMessage(message("ask number?"));
const canceled = await client.cancelTask(CancelTaskRequest.fromJSON({ id: parked.id }));
assert.equal(state(canceled), "TASK_STATE_CANCELED");
await assert.rejects(client.cancelTask(CancelTaskRequest.fromJSON({ id: parked.id })));
await assert.rejects(client.getTask(GetTaskRequest.fromJSON({ id: randomUUID() })));

// list
const page = await client.listTasks(ListTasksRequest.fromJSON({ pageSize: 2 }));
assert.ok(page.tasks.length <= 2);

// push
const seen = [];
const hook = createServer((request, response) => {
  let body = "";
  request.on("data", (chunk) => (body += chunk));
  request.on("end", () => {
    seen.push(JSON.parse(body));
    response.end();
  });
}).listen(0, "127.0.0.1");
await once(hook, "listening");
const pushed = await client.sendMessage(message("ask again?"));
await client.createTaskPushNotificationConfig(
  TaskPushNotificationConfig.fromJSON({
    taskId: pushed.id,
    url: `http://127.0.0.1:${hook.address().port}/hook`,
  }),
);
await client.sendMessage(message("yes", { taskId: pushed.id }));
const until = Date.now() + 20_000;
const told = () => seen.some((event) => event.statusUpdate?.status.state === "TASK_STATE_COMPLETED");
while (!told() && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 50));
assert.ok(told(), JSON.stringify(seen));
hook.close();
console.log("round trip over", binding, "is complete");
process.exit(0);
