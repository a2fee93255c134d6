import t from 'tap'
import { HeaderList } from '../../../../core/http/headers.ts'
import {
  isUnqualified,
  NO_DIRECTIVES,
  parseDirectives,
  readNames,
  readSeconds,
} from '../../../../plugins/http/cache/directives.ts'

function parse(...values: readonly string[]) {
  return parseDirectives(new HeaderList(values.flatMap((value) => ['cache-control', value])))
}

t.test('splits directives at commas outside quotes', (t) => {
  const directives = parse('Public, ext="a, no-store", ,', 'max-age=1')
  t.strictSame(
    [...directives],
    [
      ['public', ['']],
      ['ext', ['a, no-store']],
      ['max-age', ['1']],
    ],
  )
  t.equal(parse(), NO_DIRECTIVES)
  t.strictSame([...parse('ext="a\\"b", x="open, y')].flat(2), ['ext', 'a"b', 'x', '"open, y'])
  t.end()
})

t.test('reads seconds, the lowest of several and 0 for an invalid value', (t) => {
  for (const [text, seconds] of [
    ['max-age=10', 10],
    ['max-age="10"', 10],
    ['max-age=0010', 10],
    ['max-age=99999999999', 2 ** 31],
    ['max-age=10, max-age=5', 5],
    ['max-age=-1', 0],
    ['max-age=1.5', 0],
    ["max-age='10'", 0],
    ['max-age', 0],
    ['max-age =10', undefined],
    ['s-maxage=10', undefined],
  ] as const)
    t.equal(readSeconds(parse(text), 'max-age'), seconds, text)
  t.end()
})

t.test('distinguishes qualified and unqualified directives', (t) => {
  const directives = parse('private="A, b", no-cache')
  t.strictSame(readNames(directives, 'private'), ['a', 'b'])
  t.strictSame(readNames(directives, 'no-cache'), [])
  t.strictSame(
    ['private', 'no-cache', 'public'].map((name) => isUnqualified(directives, name)),
    [false, true, false],
  )
  t.end()
})
