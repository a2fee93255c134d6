import t from 'tap'
import { checkFile, formatFindings, splitName } from '../../scripts/vocabulary.ts'

const wordsOf = (path: string, text: string): readonly string[] =>
  checkFile(path, text).map(({ line, word }) => `${line} ${word}`)

t.test('splits names in camel case, kebab case and capitals into words', async (t) => {
  t.strictSame(splitName('createHTTPServer'), ['create', 'HTTP', 'Server'])
  t.strictSame(splitName('kept-watch'), ['kept', 'watch'])
  t.strictSame(splitName('MAX_TOLD_BYTES'), ['MAX', 'TOLD', 'BYTES'])
})

t.test('rejects words in file names, exported names and comments, but not in code', async (t) => {
  const source = [
    `/${'**'} Returns what a peer was told. */`,
    `export function tellPeer(given: string): void {} /${'/'} nobody waits`,
    "const text = 'told'",
    `/${'**'}`,
    ' * Work is under',
    ' * way, and `told` is code.',
    ' */',
    'export const OWN_KEPT = 1',
  ].join('\n')
  t.strictSame(wordsOf('core/kept-watch.ts', source).toSorted(), [
    '1 kept',
    '1 told',
    '2 nobody',
    '2 tell',
    '5 under way',
    '8 KEPT',
    '8 OWN',
  ])
})

t.test('rejects words in Markdown with file, line and replacement', async (t) => {
  const text = 'A title\n\nNobody was told.\n'
  t.strictSame(formatFindings('docs/a.md', checkFile('docs/a.md', text)), [
    'docs/a.md:3: "Nobody": write anonymous, none or no-op',
    'docs/a.md:3: "told": write report, log, notify, publish, advertise, return or send',
  ])
})

t.test('accepts words in code blocks, inline code, link targets and addresses', async (t) => {
  const text = [
    'The field `refusal`, the action `login.refused`.',
    '```sh',
    'echo told',
    '```',
    '[page](told.md), https://example.com/told',
    'Run `mx',
    'told` and the page was told.',
  ].join('\n')
  t.strictSame(wordsOf('docs/a.md', text), ['7 told'])
})

t.test('accepts standard terms, but not their words alone', async (t) => {
  const text = 'Connection refused. A node refuses a connection.\nA node refuses a call.'
  t.strictSame(wordsOf('docs/a.md', text), ['2 refuses'])
})

t.test('rejects doubled words, also across lines of a comment', async (t) => {
  t.strictSame(wordsOf('docs/a.md', 'Returns the the route.\n\n# Quotas\n\nQuotas limit.'), [
    '1 the the',
  ])
  t.strictSame(wordsOf('lib/a.ts', '/**\n * Returns the\n * the route.\n */'), ['2 the the'])
  t.strictSame(wordsOf('lib/a.ts', '/** @param route route of the request */'), [])
})
