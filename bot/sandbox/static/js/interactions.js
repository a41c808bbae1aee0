/** From a press to its answer: the waiting dots, "This interaction failed", and a modal that opens. */

import { api } from './net.js';
import { on, say, store } from './store.js';

const failures = new Map(); // message id → what to show under it
const waiting = new Map(); // message id → the press that waits for its answer

/** The line under a message whose last press failed, or ''. */
export const failureOf = (id) => failures.get(id) ?? '';

/** The custom id that waits for an answer on that message, or ''. */
export const waitingOf = (id) => waiting.get(id)?.custom_id ?? '';

// A changed message is the answer, also when the news of it comes before the answer to our request:
// whoever presses what they see now must not be ignored.
on('messages', ({ what, id }) => { if (what === 'update') waiting.delete(id); });

const redraw = (message) => say('messages', { what: 'update', channel: message.channel_id, id: message.id });

/** Presses or chooses on a message as the acting person. */
export async function press(message, el, op, fields) {
  if (waiting.has(message.id)) return;
  failures.delete(message.id);
  waiting.set(message.id, fields);
  el.classList.add('waiting');
  el.setAttribute('aria-busy', 'true');
  try {
    const answer = await api(op, { channel: message.channel_id, message: message.id, ...fields });
    settle(answer.interaction);
    if (answer.interaction?.state === 'failed') failures.set(message.id, 'This interaction failed');
  } catch (error) {
    failures.set(message.id, error.message);
  } finally {
    const unanswered = waiting.get(message.id) === fields;
    if (unanswered) waiting.delete(message.id);
    // What the answer changed is drawn already; to draw it again could take a button from under the next press.
    if (unanswered || failures.has(message.id)) redraw(message);
  }
}

/** Acts on the state in which an interaction came back: a modal opens. */
export function settle(interaction) {
  if (interaction?.state === 'modal') say('modal', interaction);
}

/** Runs a slash command or a message menu; a failure is told as a small line only this person sees. */
export async function invoke(op, body, files, label) {
  const channel = body.channel;
  say('sending', { channel, label });
  try {
    const answer = await api(op, body, files);
    settle(answer.interaction);
    if (answer.interaction?.state === 'failed') {
      say('notice', { channel, text: `${label}: ${store.bot.online ? 'The application did not respond' : 'The bot is offline'}`, bad: true });
      return false;
    }
    return true;
  } catch (error) {
    say('notice', { channel, text: error.message, bad: true });
    return false;
  } finally {
    say('sending', { channel, label: '' });
  }
}
