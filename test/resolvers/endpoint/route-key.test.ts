import t from 'tap'
import { createRouteKey } from '../../../resolvers/endpoint/route-key.ts'

t.test('keys differ by path and inner key, including paths that share a slot', async (t) => {
  const toKey = createRouteKey()
  // Equal in length and in the characters that are hashed.
  const paths = ['/a', '/a/b', '/abcdefgh', '/axcdefgh', '/aycdefgh']
  for (const _ of [1, 2])
    for (const path of paths)
      for (const inner of [path, '/a', 'shop', ''])
        t.equal(toKey(path, inner), path === inner ? path : `${path} ${inner}`)
})
