import t from 'tap'
import { parseParameters, skipToken } from '../../../../core/request/query/parameters.ts'

t.test('parameter values are tokens or quoted strings', async (t) => {
  const cases: [string, [string, string][]][] = [
    ['', []],
    ['  ', []],
    [';', []],
    ['; ;', []],
    [';a=b', [['a', 'b']]],
    [
      ' ; A=b ;\tC="d e;f=" ',
      [
        ['a', 'b'],
        ['c', 'd e;f='],
      ],
    ],
    ['; a=""', [['a', '']]],
    ['; a="x\\"y\\\\z"', [['a', 'x"y\\z']]],
    ['; f="C:\\dir\\é.txt"', [['f', 'C:\\dir\\é.txt']]],
    ["; filename*=UTF-8''x%20y", [['filename*', "UTF-8''x%20y"]]],
  ]
  for (const [text, parameters] of cases) t.same([...parseParameters(text, 0)!], parameters, text)
  t.same([...parseParameters('a/b; c=d', 3)!], [['c', 'd']])
})

t.test('other parameters are malformed', async (t) => {
  for (const text of [
    'a=b',
    '; a',
    '; a=',
    '; a b',
    '; =b',
    '; a="b',
    '; a="b\\"',
    '; a="b"c',
    '; a=b c',
    '; a=b; a=c',
    '; a=b; A=c',
    '; a="\n"',
    '; a="\x7f"',
    '; a =b',
    '; a= b',
    ', a=b',
  ])
    t.equal(parseParameters(text, 0), undefined, JSON.stringify(text))
})

t.test('parsing takes time linear in the length', async (t) => {
  const size = 4 * 1024 * 1024
  const before = performance.now()
  t.ok(parseParameters(`; a="${'\\"'.repeat(size)}"`, 0))
  for (const text of [
    `; a="${'\\"'.repeat(size)}`,
    `; a="${'\\'.repeat(size)}`,
    `${';'.repeat(size)}x`,
    `; ${'a'.repeat(size)}`,
  ])
    t.equal(parseParameters(text, 0), undefined)
  t.ok(performance.now() - before < 10_000, `${performance.now() - before} ms`)
})

t.test('skipToken returns the end of a token', async (t) => {
  t.equal(skipToken('a/b', 0), 1)
  t.equal(skipToken('a/b', 1), 1)
  t.equal(skipToken('a/b', 3), 3)
})
