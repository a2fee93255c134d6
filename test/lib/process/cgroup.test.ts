import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  findCurrentCgroup,
  removeCgroups,
  toCgroupFolder,
  toEnterCommand,
  tryCreateCgroup,
} from '../../../lib/process/cgroup.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const parent = findCurrentCgroup()
const id = `test-${process.pid}`
const skip = findSkip()

/** Reason to skip; false if processes can be put into groups. */
function findSkip(): string | false {
  const group = tryCreateCgroup(parent, id)
  if (group === undefined) return 'requires a writable cgroup v2 hierarchy'
  const hasKill = existsSync(join(toCgroupFolder(parent!, id), 'cgroup.kill'))
  void group.remove()
  return !hasKill && 'requires cgroup.kill (Linux 5.14)'
}

for (const [description, line] of [
  ['a background process without environment', 'setsid env -i /bin/sleep 1000 & echo; wait'],
  [
    'a process that moved to a child group',
    'mkdir $G/a $G/a/b && echo 0 > $G/a/b/cgroup.procs && echo && exec sleep 1000',
  ],
] as const)
  for (const variant of ['by its server', 'by the next server'])
    t.test(`${description} is killed when its group is removed ${variant}`, { skip }, async (t) => {
      const group = tryCreateCgroup(parent, id)!
      const folder = toCgroupFolder(parent!, id)
      const [first, ...rest] = [...toEnterCommand(group), '/bin/sh', '-c', line]
      const env = { ...process.env, G: folder }
      const child = spawn(first!, rest, { stdio: ['ignore', 'pipe', 'ignore'], env })
      await once(child.stdout!, 'data')
      // Processes keep the output open as long as they live.
      const closed = once(child.stdout!, 'close')
      await (variant === 'by its server' ? group.remove() : removeCgroups(parent, [id]))
      t.notOk(existsSync(folder))
      await closed
    })

t.test('without a writable cgroup hierarchy there is no group', async (t) => {
  const folder = makeTempFolder(t, 'cgroup')
  t.equal(tryCreateCgroup(undefined, 'a'), undefined)
  t.equal(tryCreateCgroup(folder, 'a'), undefined, 'there is no cgroup.procs')
  writeFileSync(join(folder, 'cgroup.procs'), '')
  mkdirSync(toCgroupFolder(folder, 'a'))
  t.equal(tryCreateCgroup(folder, 'a'), undefined, 'the group exists already')
  await removeCgroups(folder, ['none'])
})
