import t from 'tap'
import { checkFile, formatFindings, splitName } from '../../scripts/vocabulary.ts'

const listWords = (path: string, text: string): readonly string[] =>
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
  t.strictSame(listWords('core/kept-watch.ts', source).toSorted(), [
    '1 kept',
    '1 told',
    '2 nobody',
    '2 tell',
    '5 under way',
    '8 KEPT',
    '8 OWN',
  ])
})

t.test(
  'rejects words in texts of the program and titles of tests, but not in keys and test data',
  async (t) => {
    const source = [
      "const KEY = 'told'",
      "const detail = 'the caller was told'",
      'const text = `the caller was kept, others wait`',
      "t.test('a caller is asked', () => { run('the caller was told') })",
      "const glob = '/a/**'; const after = 'is' // fine",
    ].join('\n')
    t.strictSame(listWords('core/a.ts', source), ['2 told', '3 kept', '4 asked', '4 told'])
    t.strictSame(listWords('test/a.test.ts', source), ['4 asked'])
  },
)

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
  t.strictSame(listWords('docs/a.md', text), ['7 told'])
})

t.test('accepts standard terms, but not their words alone', async (t) => {
  const text = 'Connection refused. A node refuses a connection.\nA node refuses a call.'
  t.strictSame(listWords('docs/a.md', text), ['2 refuses'])
})

t.test('rejects doubled words, including across lines of a comment', async (t) => {
  t.strictSame(listWords('docs/a.md', 'Returns the the route.\n\n# Quotas\n\nQuotas limit.'), [
    '1 the the',
  ])
  t.strictSame(listWords('lib/a.ts', '/**\n * Returns the\n * the route.\n */'), ['2 the the'])
  t.strictSame(listWords('lib/a.ts', '/** @param route route of the request */'), [])
})

t.test('rejects pronouns in place of nouns, including across lines of a comment', async (t) => {
  const text = `/${'**'}\n * Merges routes with those\n * of the service, except the ones\n * whose path differs.\n */`
  t.strictSame(listWords('lib/a.ts', text), ['2 those of', '3 the ones'])
  t.strictSame(listWords('docs/a.md', 'Its port is that of the listener, not one that is free.'), [
    '1 that of',
    '1 one that',
  ])
  t.strictSame(listWords('docs/a.md', 'One of those routes is used.'), [])
})

t.test('rejects sentences that begin with What, Whose, Those or Of', async (t) => {
  const text = '# What is checked\n\nOf two routes the first counts. Those are logged.\n'
  t.strictSame(formatFindings('docs/a.md', checkFile('docs/a.md', text)), [
    'docs/a.md:1: "What": write the name of the thing as subject',
    'docs/a.md:3: "Of": write the name of the thing as subject',
    'docs/a.md:3: "Those": write the name of the thing as subject',
  ])
  t.strictSame(listWords('lib/a.ts', `/${'**'} What a route does. */`), ['1 What'])
})

t.test('accepts quoted titles and the same words inside a sentence', async (t) => {
  t.strictSame(listWords('docs/a.md', 'Chapter "What the service does" of the specification.'), [])
})
