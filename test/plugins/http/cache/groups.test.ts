import t from 'tap'
import { HeaderList } from '../../../../core/http/headers.ts'
import { readGroups, readInvalidatedGroups } from '../../../../plugins/http/cache/groups.ts'

t.test('reads Cache-Groups and Surrogate-Key', (t) => {
  for (const [fields, groups] of [
    [[], []],
    [
      ['cache-groups', '"a", "b, c";x=1', 'cache-groups', '"d\\"e"'],
      ['a', 'b, c', 'd"e'],
    ],
    [['cache-groups', 'a'], []],
    [['cache-groups', '"a", b'], []],
    [
      ['surrogate-key', 'x  y', 'cache-groups', '"x"'],
      ['x', 'y'],
    ],
    [['surrogate-key', 'x'.repeat(300)], []],
  ] as const)
    t.strictSame(readGroups(new HeaderList(fields)), groups)
  const many = Array.from({ length: 200 }, (_, i) => `g${i}`).join(' ')
  t.equal(readGroups(new HeaderList(['surrogate-key', many])).length, 128)
  t.end()
})

t.test('reads Cache-Group-Invalidation', (t) => {
  const headers = new HeaderList(['cache-group-invalidation', '"a", "b"'])
  t.strictSame(readInvalidatedGroups(headers), ['a', 'b'])
  t.end()
})
