import { execFile } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { openDataFolder } from '../../../../platform/server/files/data-folder.ts'
import { LOADER, toModule } from '../../../fixtures/programs.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

t.setTimeout(120_000)

const run = promisify(execFile)
const SOURCE = toModule(
  new URL('../../../../platform/server/files/data-folder.ts', import.meta.url),
).href
const IS_ROOT = process.getuid?.() === 0
const UNPRIVILEGED = 65_534

const getMode = (path: string): string => (statSync(path).mode & 0o777).toString(8)

/** Result of opening a folder in a process with another environment or user. */
async function openInProcess(
  text: string,
  env: Record<string, string>,
  uid?: number,
): Promise<string> {
  const script = `import(${JSON.stringify(SOURCE)}).then(({ openDataFolder }) => openDataFolder(process.argv[1]))
    .then(({ path, close }) => close().then(() => console.log(path)), (error) => console.log(error.message))`
  const { stdout } = await run(process.execPath, [...LOADER, '--eval', script, text], {
    env: { PATH: process.env['PATH']!, ...env },
    ...(uid !== undefined && { uid, gid: uid }),
  })
  return stdout.trim()
}

function makeFolder(t: Test, mode: number): string {
  const folder = join(makeTempFolder(t, 'data'), 'server')
  mkdirSync(folder)
  chmodSync(folder, mode)
  return folder
}

t.test('creates a folder and its parents with access for the owner only', async (t) => {
  const home = makeTempFolder(t, 'data')
  const { path, close } = await openDataFolder(join(home, '.mx', 'server'))
  t.teardown(close)
  t.equal(path, join(home, '.mx', 'server'))
  t.equal(getMode(path), '700')
  t.equal(getMode(join(home, '.mx')), '700')
})

t.test('expands ~ to the home folder', async (t) => {
  const HOME = makeTempFolder(t, 'data')
  t.equal(await openInProcess('~/.mx/server', { HOME }), join(HOME, '.mx/server'))
  t.ok(existsSync(join(HOME, '.mx/server')))
})

t.test('rejects a second server until the first has closed the folder', async (t) => {
  const folder = makeTempFolder(t, 'data')
  const { close } = await openDataFolder(folder)
  await t.rejects(openDataFolder(folder), /is in use by another mx server/)
  await close()
  await (await openDataFolder(folder)).close()
})

t.test('rejects a folder that is writable by others', async (t) => {
  for (const mode of [0o777, 0o770, 0o702]) {
    const folder = makeFolder(t, mode)
    await t.rejects(openDataFolder(folder), {
      message: `the data folder ${folder} is writable by others (mode ${mode.toString(8)}): run chmod 700, or set another with --data_dir`,
    })
  }
  await (await openDataFolder(makeFolder(t, 0o755))).close()
})

t.test('rejects a path that is not a folder', async (t) => {
  const file = join(makeTempFolder(t, 'data'), 'file')
  writeFileSync(file, '')
  for (const path of [file, join(file, 'server')])
    await t.rejects(openDataFolder(path), {
      message: `cannot use the data folder ${path}: it is not a folder; set another with --data_dir or MX_DATA_DIR`,
    })
})

t.test('immediately reports a folder that cannot be created', async (t) => {
  const link = join(makeTempFolder(t, 'data'), 'link')
  symlinkSync(join(link, '..', 'none'), link)
  for (const path of ['/proc/nope', '/proc/nope/server', link])
    await t.rejects(openDataFolder(path), {
      message: `cannot use the data folder ${path}: it does not exist and cannot be created; set another with --data_dir or MX_DATA_DIR`,
    })
})

t.test('rejects a folder of another user', { skip: !IS_ROOT && 'needs root' }, async (t) => {
  const folder = makeFolder(t, 0o700)
  chownSync(folder, UNPRIVILEGED, UNPRIVILEGED)
  await t.rejects(openDataFolder(folder), {
    message: `the data folder ${folder} belongs to user ${UNPRIVILEGED}, but the server runs as user 0: change its owner, or set another with --data_dir`,
  })
})

t.test('reports missing permissions', { skip: !IS_ROOT && 'needs root' }, async (t) => {
  const folder = makeFolder(t, 0o500)
  chownSync(folder, UNPRIVILEGED, UNPRIVILEGED)
  chmodSync(join(folder, '..'), 0o755)
  const reason = 'permission denied; set another with --data_dir'
  t.match(await openInProcess(folder, {}, UNPRIVILEGED), reason)
  t.match(await openInProcess(join(folder, 'inside'), {}, UNPRIVILEGED), reason)
})
