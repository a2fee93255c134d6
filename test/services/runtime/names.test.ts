import t from 'tap'
import { isObjectName, isVersion } from '../../../services/runtime/names.ts'

t.test('accepts service names of at most 63 characters as object names', async (t) => {
  for (const name of ['helloworld', 'a', 'go.mx.web', 'a_b-c', 'a'.repeat(63)])
    t.ok(isObjectName(name), name)
  for (const name of ['', '..', '.a', 'a b', 'a/b', 'a@b', '__proto__', 'a'.repeat(64)])
    t.notOk(isObjectName(name), name)
})

t.test('accepts branches, tags and commits as versions', async (t) => {
  const validNames = ['latest', 'v1.2.3', 'feature/x', '4f2a91c', 'a'.repeat(64)]
  for (const version of validNames) t.ok(isVersion(version), version)
  const bad = ['', '-x', '/a', 'a/', 'a//b', 'a..b', '..', 'a b', 'a:b', '.git', 'a'.repeat(65)]
  for (const version of bad) t.notOk(isVersion(version), version)
})
