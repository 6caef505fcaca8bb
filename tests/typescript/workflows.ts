// A refund that a person approves. It knows the task log (docs/task-log.md) and nothing else of
// a2a_temporal: it reads its TaskStart, writes entries into the memo, and takes signals.
import {
  condition,
  defineSignal,
  isCancellation,
  setHandler,
  upsertMemo,
  upsertSearchAttributes,
  uuid4,
} from '@temporalio/workflow';

const APPROVALS = 'https://a2a-temporal.dev/extensions/approvals/v1';

interface Part { text?: string; data?: unknown }
interface Message { messageId: string; parts: Part[] }
interface TaskStart { task_id: string; message: Message; search_attributes?: boolean }
interface MessageEntry { message: Message; request?: { user?: string } }
interface Decision { verdict?: string; by?: string; comment?: string; token?: string }
interface Answer { yes: boolean; by: string; comment: string; token?: string }

const message = defineSignal<[MessageEntry]>('a2a_message');
const decision = defineSignal<[Decision]>('a2a_decision');
const approve = defineSignal<[Decision?]>('approve');
const reject = defineSignal<[Decision?]>('reject');

const textOf = (m: Message) => m.parts.map((p) => p.text ?? '').join('\n').trim();

class Log {
  private last = 0;

  constructor(private readonly start: TaskStart) {}

  emit(events: unknown[], state?: string): void {
    const now = Math.max(Date.now(), this.last);
    this.last = now;
    const at = new Date(now);
    upsertMemo({ a2a: { version: 1, events, at: at.toISOString() } });
    if (state !== undefined && this.start.search_attributes !== false) {
      upsertSearchAttributes({ A2aState: [state], A2aUpdatedAt: [at] });
    }
  }

  status(name: string, text?: string, about?: Record<string, unknown>): void {
    const state = `TASK_STATE_${name}`;
    const said = text === undefined ? {} : {
      message: {
        messageId: uuid4(),
        role: 'ROLE_AGENT',
        parts: [{ text }],
        ...(about ? { extensions: [APPROVALS], metadata: { [APPROVALS]: about } } : {}),
      },
    };
    const event = { statusUpdate: { status: { state, ...said } } };
    this.emit([event], name.toLowerCase().replaceAll('_', '-'));
  }

  artifact(artifactId: string, text: string): void {
    this.emit([{ artifactUpdate: { artifact: { artifactId, name: artifactId, parts: [{ text }] } } }]);
  }
}

export async function refundTask(start: TaskStart): Promise<void> {
  const log = new Log(start);
  const seen = new Set([start.message.messageId]);
  const what = textOf(start.message);
  const request = { id: 'approval-1', kind: 'approval', summary: `Refund ${what}?`, asked_at: '', details: null };
  let answer: Answer | undefined;
  let asked = false;

  const ask = (text: string, more: Record<string, unknown> = {}) =>
    log.status('INPUT_REQUIRED', text, { requests: [request], ...more });
  const take = (given: Answer) => {
    if (asked && answer === undefined) answer = given;
  };
  setHandler(approve, (v) => take({ yes: true, by: v?.by ?? '', comment: v?.comment ?? '' }));
  setHandler(reject, (v) => take({ yes: false, by: v?.by ?? '', comment: v?.comment ?? '' }));
  setHandler(decision, (v) =>
    take({ yes: v.verdict === 'approve', by: v.by ?? '', comment: v.comment ?? '', token: v.token }));
  setHandler(message, (entry) => {
    if (seen.has(entry.message.messageId)) return; // the same message again
    seen.add(entry.message.messageId);
    const word = textOf(entry.message).toLowerCase();
    const by = entry.request?.user ?? '';
    if (word === 'approve' || word === 'reject') take({ yes: word === 'approve', by, comment: '' });
    else if (answer === undefined) ask("Reply with exactly 'approve' or 'reject'.");
  });

  try {
    log.status('WORKING', 'Looking at it');
    ask(`Refund ${what}? Reply 'approve' or 'reject'.`);
    asked = true;
    await condition(() => answer !== undefined);
    const { yes, by, comment, token } = answer!;
    log.status('WORKING', `${by || 'An operator'} said ${yes ? 'yes' : 'no'}`, {
      requests: [],
      ...(token ? { token } : {}),
    });
    if (!yes) return log.status('REJECTED', `Not refunded. ${comment}`.trim());
    log.artifact('receipt', `refunded ${what}`);
    log.status('COMPLETED');
  } catch (error) {
    log.status(isCancellation(error) ? 'CANCELED' : 'FAILED');
    throw error;
  }
}

// A workflow that knows nothing of A2A at all.
export async function shout(text: string): Promise<{ shouted: string }> {
  return { shouted: text.toUpperCase() };
}
