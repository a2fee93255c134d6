import t from 'tap'
import { toSafePath } from '../../../../services/runtime/sources/safe-path.ts'

t.test('normalizes a path inside a folder', async (t) => {
  t.equal(toSafePath('a/b'), 'a/b')
  t.equal(toSafePath('./a//b/'), 'a/b')
  t.equal(toSafePath('./'), '.')
  t.equal(toSafePath('e\u0301'), '\u00e9')
  t.equal(toSafePath('..a/b..'), '..a/b..')
})

t.test('rejects a path that leads out of the folder and names it', async (t) => {
  for (const path of ['', '/a', '..', 'a/..', 'a/../../b', 'a\0b', 'a\\b', 'c:a', 'a\x7f'])
    t.throws(() => toSafePath(path), { code: 400, message: JSON.stringify(path) }, path)
  t.throws(() => toSafePath('x'.repeat(256)), { message: /too long/ })
  t.throws(() => toSafePath('x/'.repeat(600)), { message: /too long/ })
  t.throws(() => toSafePath('../a', 'the entrypoint'), { message: /^the entrypoint has the path/ })
})
