import t from 'tap'
import {
  findRef,
  listBranches,
  parseRemoteRefs,
} from '../../../../services/runtime/sources/remote-refs.ts'

const toText = (...lines: readonly string[]) => lines.map((line) => `${line}\n`).join('')

t.test('prefers branches to tags and resolves latest to the default branch', async (t) => {
  const refs = parseRemoteRefs(
    toText(
      'ref: refs/heads/develop\tHEAD',
      'c1\tHEAD',
      'c1\trefs/heads/develop',
      'c2\trefs/heads/main',
      'c3\trefs/heads/v1',
      'c4\trefs/tags/v1',
      'c5\trefs/tags/v2',
    ),
  )
  t.strictSame(listBranches(refs), ['develop', 'main', 'v1'])
  t.equal(findRef(refs, 'latest'), 'refs/heads/develop')
  t.equal(findRef(refs, 'v1'), 'refs/heads/v1')
  t.equal(findRef(refs, 'v2'), 'refs/tags/v2')
  t.equal(findRef(refs, 'v3'), undefined)
})

t.test('resolves latest to latest, master, main or trunk without a default branch', async (t) => {
  const names = ['trunk', 'main', 'master', 'latest']
  for (const [i, name] of names.entries()) {
    const lines = names.slice(0, i + 1).map((known) => `c\trefs/heads/${known}`)
    const text = toText('ref: refs/heads/gone\tHEAD', ...lines)
    t.equal(findRef(parseRemoteRefs(text), 'latest'), `refs/heads/${name}`)
  }
  t.equal(findRef(parseRemoteRefs(''), 'latest'), undefined)
})
