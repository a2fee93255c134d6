import t from 'tap'
import { isVersionSegment, splitPath } from '../../../core/http/path-segments.ts'

t.test('a path is split into segments without decoding, a trailing slash adds none', async (t) => {
  const rows: [string, string[]][] = [
    ['/', []],
    ['/a', ['a']],
    ['/a/', ['a']],
    ['/a/b/c', ['a', 'b', 'c']],
    ['/a%2fb/%61', ['a%2fb', '%61']],
    ['/.well-known/...', ['.well-known', '...']],
    ['/%2ehidden', ['%2ehidden']],
  ]
  for (const [path, segments] of rows) t.same(splitPath(path), segments, path)
})

t.test('a path without leading slash, with empty or with dot segments is rejected', async (t) => {
  const paths = ['', '*', 'a', 'a/b', '//', '//a', '/a//', '/a//b', '/.', '/..', '/a/../b', '/a/./']
  const encoded = ['/%2e', '/%2E%2e/a', '/.%2e', '/a/..;x/b', '/.;/a', '/%2e%2E;a', '/..%3Ba']
  for (const path of [...paths, ...encoded]) t.equal(splitPath(path), undefined, path)
})

t.test('a version is v followed by digits', async (t) => {
  for (const segment of ['v1', 'v0', 'v20261121']) t.equal(isVersionSegment(segment), true, segment)
  for (const segment of ['', 'v', '1', 'V1', 'v1a', 'v1.2', 'v-1', 'vv1', ' v1', 'v1\n', 'v%31'])
    t.equal(isVersionSegment(segment), false, JSON.stringify(segment))
})
