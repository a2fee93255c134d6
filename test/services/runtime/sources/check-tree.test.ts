import t from 'tap'
import { checkTree } from '../../../../services/runtime/sources/check-tree.ts'
import { createGit } from '../../../../services/runtime/sources/git.ts'
import { makeGitRepository } from '../../../fixtures/git-repository.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

t.test('counts files, folders and bytes of a commit', async (t) => {
  const { folder, commit } = makeGitRepository(t, 'repo')
  const hash = commit({ 'a\n1\t9': '12345', 'sub/deep/b': '123', 'sub/c': '' })
  const git = createGit({
    ...{ folder, home: makeTempFolder(t, 'home'), url: folder, allowLocal: true },
    ...{ credentials: undefined, pin: undefined },
    ...{ onOutput: () => {}, signal: new AbortController().signal },
  })
  await checkTree(git, hash)
  await checkTree(git, hash, { maxFiles: 5, maxBytes: 8 })
  await t.rejects(checkTree(git, hash, { maxFiles: 4 }), {
    ...{ code: 413, message: 'the repository exceeds the limit of 4 files and folders' },
  })
  await t.rejects(checkTree(git, hash, { maxBytes: 7 }), {
    ...{ code: 413, message: 'the repository exceeds the limit of 7' },
  })
  await t.rejects(checkTree(git, 'f'.repeat(40)), { code: 502 })
})
