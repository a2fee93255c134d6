import t from 'tap'
import { countWords, findExcess, splitName } from '../../scripts/vocabulary.ts'

t.test('splits names in camel case, kebab case and capitals into words', async (t) => {
  t.strictSame(splitName('createHTTPServer'), ['create', 'HTTP', 'Server'])
  t.strictSame(splitName('kept-watch'), ['kept', 'watch'])
  t.strictSame(splitName('MAX_TOLD_BYTES'), ['MAX', 'TOLD', 'BYTES'])
})

t.test('counts banned words in file names, exported names and comments', async (t) => {
  const source = [
    '/** What is told to whoever asks. */',
    'export function tellPeer(): void {} // nobody hears it',
    "const text = 'told'",
  ].join('\n')
  t.strictSame(countWords('core/kept-watch.ts', source), { fileNames: 1, exports: 1, prose: 5 })
})

t.test('counts all of the text of a Markdown file', async (t) => {
  const counts = countWords('docs/a.md', 'Nobody was told.')
  t.strictSame(counts, { fileNames: 0, exports: 0, prose: 2 })
})

t.test('reports only counts that rose, with the count before', async (t) => {
  const before = { core: { fileNames: 0, exports: 1, prose: 5 } }
  t.strictSame(findExcess({ core: { fileNames: 0, exports: 0, prose: 5 } }, before), [])
  t.strictSame(findExcess({ core: { fileNames: 0, exports: 1, prose: 6 } }, before), [
    'core: 6 banned words in prose, 5 before',
  ])
  t.strictSame(findExcess({ lib: { fileNames: 1, exports: 0, prose: 0 } }, before), [
    'lib: 1 banned words in fileNames, 0 before',
  ])
})
