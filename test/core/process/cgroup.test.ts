import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  findOwnCgroup,
  removeCgroups,
  toCgroupFolder,
  toEnter,
  tryCreateCgroup,
} from '../../../core/process/cgroup.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

t.test('a group ends with everything that entered it, whatever session that has', async (t) => {
  const parent = findOwnCgroup()
  for (const how of ['by itself', 'by the next server']) {
    const id = `test-${process.pid}`
    const group = tryCreateCgroup(parent, id)
    if (group === undefined) return t.comment('not tested: cgroup v2 is not writable')
    const line = 'setsid env -i /bin/sleep 1000 & echo; wait'
    const [first, ...rest] = [...toEnter(group), '/bin/sh', '-c', line]
    const child = spawn(first!, rest, { stdio: ['ignore', 'pipe', 'ignore'] })
    await once(child.stdout!, 'data')
    // The background process holds the output as long as it lives.
    const closed = once(child.stdout!, 'close')
    await (how === 'by itself' ? group.remove() : removeCgroups(parent, [id]))
    await closed
    t.notOk(existsSync(toCgroupFolder(parent!, id)), how)
  }
})

t.test('there is none where the hierarchy is not writable', async (t) => {
  const folder = makeTempFolder(t, 'cgroup')
  t.equal(tryCreateCgroup(undefined, 'a'), undefined)
  t.equal(tryCreateCgroup(folder, 'a'), undefined, 'no file to enter by')
  writeFileSync(join(folder, 'cgroup.procs'), '')
  mkdirSync(toCgroupFolder(folder, 'a'))
  t.equal(tryCreateCgroup(folder, 'a'), undefined, 'it belongs to something else')
  await removeCgroups(folder, ['none'])
})
