import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openSandbox, type Sandbox } from '../../../../lib/process/sandbox/sandbox.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const USER_IDS = { first: 200_000, last: 200_009 }

async function open(t: Test) {
  const data = makeTempFolder(t, 'sandbox')
  // An operator may set this mode, but the content is hidden nevertheless.
  chmodSync(data, 0o755)
  writeFileSync(join(data, 'secret'), 'secret', { mode: 0o644 })
  const options = { folder: join(data, 'isolation'), hidden: data, installed: [] }
  const isolation = await openSandbox({ ...options, userIds: USER_IDS })
  const build = join(data, 'build')
  mkdirSync(build, { mode: 0o700 })
  return { data, build, options, ...isolation }
}

/** Runs shell commands in the sandbox of a namespace. */
async function runIn(
  sandbox: Sandbox,
  folder: string,
  script: string,
  env: Record<string, string> = {},
): Promise<string> {
  const userId = sandbox.toUserId('tb')
  await sandbox.transferOwnership(folder, userId)
  const exposed = [{ path: folder, isWritable: true }]
  const run = { userId, folder, env, exposed }
  const { words, ...options } = sandbox.wrap(['/bin/sh', '-c', script], run)
  return execFileSync(words[0]!, words.slice(1), { ...options, encoding: 'utf8' })
}

const skip = process.getuid?.() !== 0 && 'requires root'

t.test('a sandboxed program has its own user, file view and process list', { skip }, async (t) => {
  const { sandbox, data, build } = await open(t)
  const script = `id -u; id -G; ls ${data}; cat ${data}/secret 2>/dev/null || echo denied
    ls -d /proc/[0-9]* | wc -l; echo a > written; echo "$A"; ulimit -c`
  const lines = (await runIn(sandbox!, build, script, { A: 'it\n"is $A' })).split('\n')
  const count = Number(lines[4])
  t.strictSame(lines.toSpliced(4, 1), [
    ...['200000', '200000', 'build', 'denied', 'it', '"is $A', '0', ''],
  ])
  t.ok(count <= 4, 'only processes of the program are visible')
  t.equal(statSync(join(build, 'written')).uid, 200_000)
})

t.test(
  'environment variables of a program take effect only after privileges are dropped',
  { skip },
  async (t) => {
    const { sandbox, build } = await open(t)
    const tool = '#!/bin/sh\nid -u > $OUT/ran-as\nexec /bin/true\n'
    for (const name of ['mount', 'mkdir', 'unshare', 'setpriv'])
      writeFileSync(join(build, name), tool, { mode: 0o755 })
    const env = { PATH: `${build}:/usr/bin:/bin`, LD_PRELOAD: join(build, 'mount'), OUT: build }
    const output = await runIn(sandbox!, build, 'echo $PATH; mount; cat ran-as', env).catch(String)
    t.equal(output, `${env.PATH}\n200000\n`)
  },
)

t.test(
  'a program is not started in a folder reached through its own symbolic link',
  { skip },
  async (t) => {
    const { sandbox, data, build } = await open(t)
    const private_ = join(data, 'private')
    mkdirSync(private_, { mode: 0o700 })
    symlinkSync(private_, join(build, 'link'))
    const userId = sandbox!.toUserId('tb')
    const folder = join(build, 'link')
    const { words, ...options } = sandbox!.wrap(['/bin/true'], {
      userId,
      folder,
      env: {},
      exposed: [],
    })
    t.throws(() => execFileSync(words[0]!, words.slice(1), { ...options, stdio: 'ignore' }))
  },
)

t.test('a sandboxed program ends when its parent process is killed', { skip }, async (t) => {
  const { sandbox, build } = await open(t)
  const userId = sandbox!.toUserId('tb')
  await sandbox!.transferOwnership(build, userId)
  const exposed = [{ path: build, isWritable: true }]
  const run = { userId, folder: build, env: {}, exposed }
  const { words, ...options } = sandbox!.wrap(['/bin/sh', '-c', 'echo $$; exec sleep 1000'], run)
  const parent = `
    const [first, ...rest] = JSON.parse(process.argv[1])
    require('node:child_process').spawn(first, rest, { stdio: ['ignore', 'inherit', 'ignore'] })`
  const child = spawn(process.execPath, ['-e', parent, JSON.stringify(words)], {
    ...{ ...options, stdio: ['ignore', 'pipe', 'ignore'] },
  })
  await once(child.stdout!, 'data')
  const closed = once(child.stdout!, 'close')
  child.kill('SIGKILL')
  await closed
  t.pass('the output is closed')
})

t.test('an unavailable sandbox is reported with a reason', async (t) => {
  const { options } = await open(t)
  const isPrivileged = process.geteuid?.() === 0
  t.match(await openSandbox({ ...options, userIds: undefined }), {
    ...{ sandbox: undefined, reason: 'runtime_uids is none', isPrivileged },
  })
  if (skip) return
  const closed = makeTempFolder(t, 'closed')
  process.seteuid!(65_534)
  const unprivileged = await openSandbox({ ...options, userIds: USER_IDS }).finally(() =>
    process.seteuid!(0),
  )
  t.match(unprivileged, {
    ...{ sandbox: undefined, isPrivileged: false },
    reason: /^the server runs as user \d+ without CAP_/,
  })
  t.match(await openSandbox({ ...options, userIds: USER_IDS, installed: [closed] }), {
    ...{ sandbox: undefined, reason: `other users cannot read ${closed}`, isPrivileged },
  })
})
