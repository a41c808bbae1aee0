/** The emoji that the page offers: a short list with names, enough to react and to write. */

import { button, fill, h } from './dom.js';
import { popover } from './popover.js';

const TABLE = `
😀 grinning|😄 smile|😂 joy|🤣 rofl|😊 blush|🙂 slight_smile|😉 wink|😍 heart_eyes|😘 kissing_heart|😎 sunglasses
🤔 thinking|😐 neutral_face|😏 smirk|🙄 rolling_eyes|😴 sleeping|😮 open_mouth|😢 cry|😭 sob|😡 rage|😱 scream
😈 smiling_imp|👻 ghost|💀 skull|🤖 robot|👀 eyes|👍 thumbsup|👎 thumbsdown|👏 clap|🙏 pray|👋 wave
🤝 handshake|💪 muscle|🫡 saluting_face|🤷 shrug|❤️ heart|🧡 orange_heart|💛 yellow_heart|💚 green_heart|💙 blue_heart|💜 purple_heart
💔 broken_heart|✨ sparkles|⭐ star|🔥 fire|🎉 tada|💯 100|✅ white_check_mark|❌ x|❓ question|❗ exclamation
⏳ hourglass|🔁 repeat|◀️ arrow_backward|▶️ arrow_forward|⏹️ stop_button|🗑️ wastebasket|📌 pushpin|📎 paperclip|📜 scroll|📖 book
🎲 game_die|🗡️ dagger|🛡️ shield|🏹 bow|🪄 magic_wand|🔮 crystal_ball|🏰 castle|🐉 dragon|🐺 wolf|🦊 fox
🐱 cat|🐶 dog|🦉 owl|🌙 moon|☀️ sunny|⛈️ thunder|❄️ snowflake|🌲 evergreen_tree|🌹 rose|🍺 beer
🍷 wine_glass|☕ coffee|🍞 bread|🎵 musical_note|🎭 performing_arts|🕯️ candle|🏮 lantern|🚪 door|🛏️ bed|👑 crown
`.trim().split(/[\n|]/).map((pair) => { const [char, name] = pair.split(' '); return { char, name }; });

/** Emoji whose names contain `query`; those that begin with it first. */
export function findEmoji(query, limit = 10) {
  const q = query.toLowerCase();
  return TABLE.filter((e) => e.name.includes(q))
    .sort((a, b) => Number(b.name.startsWith(q)) - Number(a.name.startsWith(q)))
    .slice(0, limit);
}

/** `:tada:` in a sent text becomes 🎉, as Discord's own composer does; code is left alone. */
export function withEmoji(text) {
  return text.split(/(```[\s\S]*?```|`[^`\n]*`)/).map((part, i) => (i % 2 ? part : part.replace(/(?<!<a?):(\w{1,32}):/g,
    (all, name) => TABLE.find((e) => e.name === name)?.char ?? all))).join('');
}

/** A grid to choose from. */
export function pickEmoji(anchor, onPick) {
  const search = h('input', { type: 'search', placeholder: 'Find an emoji', 'aria-label': 'Find an emoji' });
  const grid = h('div', { class: 'emoji-grid', role: 'group', 'aria-label': 'Emoji' });
  const pop = popover(anchor, h('div', { class: 'emoji-picker' }, search, grid), { sheet: true, side: 'end' });
  const draw = () => fill(grid, findEmoji(search.value, TABLE.length).map((e) => button({
    title: `:${e.name}:`, 'aria-label': e.name, on: { click: () => { pop.close(); onPick({ id: null, name: e.char }); } },
  }, e.char)));
  search.addEventListener('input', draw);
  search.addEventListener('keydown', (e) => { if (e.key === 'Enter') grid.firstElementChild?.click(); });
  draw();
  pop.place();
  search.focus();
}
