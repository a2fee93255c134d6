import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCgroups } from '../../../../adapters/runtime/process/cgroups.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const BOUNDS = { memoryBytes: 64 * 1024 ** 2, cpus: 0.5 }
/** Mount point of cgroup v2, with or without older hierarchies. */
const HIERARCHIES = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup']

function createLog() {
  const warnings: string[] = []
  const warn = (details: object, text: string) =>
    warnings.push(`${text} ${JSON.stringify(details)}`)
  return { log: { info() {}, warn }, warnings }
}

/** A folder with the kernel files of a server's group. */
function makeGroup(t: Test, processes: string, enabled: string): string {
  const folder = makeTempFolder(t, 'cgroup')
  writeFileSync(join(folder, 'cgroup.procs'), processes)
  writeFileSync(join(folder, 'cgroup.subtree_control'), enabled)
  mkdirSync(join(folder, 'mx-server'))
  return folder
}

t.test('enforces limits by a control group', async (t) => {
  const folder = makeGroup(t, '', 'cpu memory pids')
  const group = createCgroups(createLog().log, folder)('c0ffee', BOUNDS)!
  const read = (name: string) => readFileSync(join(folder, 'mx-c0ffee', name), 'utf8')
  t.equal(group.procsFile, join(folder, 'mx-c0ffee', 'cgroup.procs'))
  t.equal(read('memory.max'), '67108864')
  t.equal(read('memory.oom.group'), '1')
  t.equal(read('cpu.max'), '50000 100000')
  t.equal(group.ranOutOfMemory(), false)
  writeFileSync(join(folder, 'mx-c0ffee', 'memory.events'), 'oom 0\noom_kill 0\n')
  t.equal(group.ranOutOfMemory(), false)
  writeFileSync(join(folder, 'mx-c0ffee', 'memory.events'), 'oom 1\noom_kill 2\n')
  t.equal(group.ranOutOfMemory(), true)
})

t.test('creates a group without limits without moving the server', async (t) => {
  const folder = makeGroup(t, `${process.pid}\n`, '')
  t.match(createCgroups(createLog().log, folder)('c0ffee', {}), { isBounded: false })
  t.strictSame(readdirSync(join(folder, 'mx-server')), [])
})

t.test('moves the server into a subgroup if it is alone in its group', async (t) => {
  const folder = makeGroup(t, `${process.pid}\n`, '')
  t.ok(createCgroups(createLog().log, folder)('c0ffee', BOUNDS))
  t.equal(readFileSync(join(folder, 'mx-server', 'cgroup.procs'), 'utf8'), String(process.pid))
  t.equal(readFileSync(join(folder, 'cgroup.subtree_control'), 'utf8'), '+cpu +memory')
})

t.test('logs once that limits are unavailable', async (t) => {
  const shared = makeGroup(t, `${process.pid}\n1\n`, '')
  for (const [folder, group] of [
    [shared, { isBounded: false }],
    ['/nowhere/at/all', undefined],
  ] as const) {
    const { log, warnings } = createLog()
    const open = createCgroups(log, folder)
    t.match(open('a', BOUNDS), group)
    t.match(open('b', BOUNDS), group)
    t.match(warnings, [
      /^control groups with limits are unavailable: .*(has other processes|ENOENT)/,
    ])
  }
})

t.test('does not move a server without available limits', async (t) => {
  const folder = makeKernelGroup(t)
  if (folder === undefined)
    return t.pass('not seen', { skip: 'requires a writable cgroup v2 hierarchy' })
  const root = join(folder, '..', 'cgroup.procs')
  writeFileSync(join(folder, 'cgroup.procs'), String(process.pid))
  const { log, warnings } = createLog()
  // Without controllers in the parent there are none to delegate.
  const group = createCgroups(log, folder)('a', BOUNDS)
  const processes = readFileSync(join(folder, 'cgroup.procs'), 'utf8')
  writeFileSync(root, String(process.pid))
  if (group !== undefined) {
    await group.remove()
    if (!group.isBounded) return t.equal(warnings.length, 1)
    return t.comment('not testable: this kernel has the controllers')
  }
  t.equal(processes.trim(), String(process.pid))
})

/** An empty kernel group for a test, undefined if unavailable. */
function makeKernelGroup(t: Test): string | undefined {
  const hierarchy = HIERARCHIES.find((folder) => existsSync(join(folder, 'cgroup.procs')))
  const folder = join(hierarchy ?? '/nowhere', `mx-test-${process.pid}`)
  try {
    mkdirSync(folder)
  } catch {
    return undefined
  }
  t.teardown(() => {
    for (const name of readdirSync(folder))
      if (name.startsWith('mx-')) rmdirSync(join(folder, name))
    rmdirSync(folder)
  })
  return folder
}
