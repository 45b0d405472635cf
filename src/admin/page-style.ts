/** The status page's style sheet. */
export const PAGE_STYLE = `
:root {
  --back: #f6f7f9; --card: #fff; --line: #d9dde3; --text: #1a1f27; --soft: #5b6472;
  --good: #12743b; --good-back: #e0f3e7; --bad: #b3261e; --bad-back: #fbe4e2;
  --warn: #8a5a00; --warn-back: #fdf0d2; --link: #1d5fbf;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #12151a; --card: #1b2027; --line: #303742; --text: #e6e9ee; --soft: #9aa4b2;
    --good: #6fd897; --good-back: #153524; --bad: #ff9a92; --bad-back: #45201e;
    --warn: #f2c46d; --warn-back: #3d2f12; --link: #8ab4f8;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 76rem; padding: 1rem 1.25rem 2rem; background: var(--back); color: var(--text);
  font: 15px/1.45 system-ui, sans-serif;
}
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0; }
h2 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; }
#server { margin: 0; color: var(--soft); }
#alarm { background: var(--bad-back); color: var(--bad); padding: .6rem .8rem; border-radius: .4rem; font-weight: 600; }
#tools { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; align-items: center; margin: .8rem 0 0; color: var(--soft); }
input, button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: .35rem; padding: .2rem .5rem; }
button { cursor: pointer; font-size: .85rem; margin-right: .25rem; }
button:hover { border-color: var(--link); }
:focus-visible { outline: 2px solid var(--link); outline-offset: 1px; }
article.alarming { border: 2px solid var(--bad); }
svg { display: block; }
.strip { width: 10rem; height: 1.25rem; background: var(--back); }
.answers-line { width: 100%; height: 2.5rem; margin-top: .3rem; background: var(--back); }
.rates { width: 100%; height: 4rem; background: var(--card); border: 1px solid var(--line); }
.event-line { width: 100%; height: .75rem; margin-top: .5rem; }
.pass { fill: var(--good); }
.fail { fill: var(--bad); }
.alarm-back { fill: var(--bad-back); }
.line, .base { fill: none; stroke: var(--link); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.base { stroke: var(--line); }
.rate.noerror { fill: var(--good); } .rate.nxdomain { fill: var(--link); } .rate.refused { fill: var(--warn); }
.rate.servfail, .rate.dropped { fill: var(--bad); } .rate.other { fill: var(--soft); }
dialog { background: var(--card); color: var(--text); border: 1px solid var(--line); border-radius: .5rem; max-width: 34rem; }
dialog::backdrop { background: rgb(0 0 0 / 45%); }
dialog h2 { margin-top: 0; }
article { content-visibility: auto; contain-intrinsic-size: auto 16rem; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; margin: 0 0 .9rem; padding: .7rem .9rem; overflow-x: auto; }
article > div { display: flex; flex-wrap: wrap; gap: .2rem .8rem; align-items: baseline; margin-bottom: .4rem; }
.soft { color: var(--soft); }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-weight: 500; color: var(--soft); font-size: .85rem; }
th, td { padding: .25rem .8rem .25rem 0; border-top: 1px solid var(--line); vertical-align: top; }
td:not(.wrap) { white-space: nowrap; }
td.address, .answers { font-family: ui-monospace, monospace; font-size: .9rem; white-space: nowrap; }
.badge { display: inline-block; padding: 0 .5rem; border-radius: 1rem; font-size: .85rem; font-weight: 600; white-space: nowrap; }
td.said { max-width: 24rem; }
td.said .badge { white-space: normal; overflow-wrap: anywhere; border-radius: .6rem; }
.good { color: var(--good); background: var(--good-back); }
.bad { color: var(--bad); background: var(--bad-back); }
.warn { color: var(--warn); background: var(--warn-back); }
.calm { color: var(--soft); background: transparent; border: 1px solid var(--line); }
p.answers { margin: .5rem 0 .1rem; white-space: normal; }
#events { list-style: none; margin: 0; padding: 0; font-size: .9rem; }
#events li { padding: .15rem 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
#events time { color: var(--soft); font-variant-numeric: tabular-nums; margin-right: .7rem; }
@media (max-width: 52rem) {
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table, tbody, tr, td { display: block; }
  tr { border-top: 1px solid var(--line); padding: .35rem 0; }
  td, td:not(.wrap) { border: 0; padding: .05rem 0; white-space: normal; }
  td:empty { display: none; }
  td::before { content: attr(data-label) ": "; color: var(--soft); font-size: .85rem; }
  .strip { display: inline-block; vertical-align: middle; }
  input { max-width: 100%; }
}
footer { margin-top: 1.5rem; display: flex; gap: 1rem; font-size: .9rem; }
a { color: var(--link); }
`;
