import t from 'tap'
import { isObjectName, isVersion } from '../../../services/runtime/names.ts'

t.test('a runtime object is named as services are, in at most 63 characters', async (t) => {
  for (const name of ['helloworld', 'a', 'go.mx.web', 'a_b-c', 'a'.repeat(63)])
    t.ok(isObjectName(name), name)
  for (const name of ['', '..', '.a', 'a b', 'a/b', 'a@b', '__proto__', 'a'.repeat(64)])
    t.notOk(isObjectName(name), name)
})

t.test('a version is a branch, a tag or a commit', async (t) => {
  const good = ['latest', 'v1.2.3', 'feature/x', '4f2a91c', 'a'.repeat(64)]
  for (const version of good) t.ok(isVersion(version), version)
  const bad = ['', '-x', '/a', 'a/', 'a//b', 'a..b', '..', 'a b', 'a:b', '.git', 'a'.repeat(65)]
  for (const version of bad) t.notOk(isVersion(version), version)
})
