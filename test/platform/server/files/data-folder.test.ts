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
const NOBODY = 65_534

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

/** What becomes of opening a folder, in a process with another environment, or of another user. */
async function openElsewhere(
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

t.test('a folder is made for its owner alone, those above it too', async (t) => {
  const home = makeTempFolder(t, 'data')
  const { path, close } = await openDataFolder(join(home, '.mx', 'server'))
  t.teardown(close)
  t.equal(path, join(home, '.mx', 'server'))
  t.equal(modeOf(path), '700')
  t.equal(modeOf(join(home, '.mx')), '700')
})

t.test('~ is the home folder', async (t) => {
  const HOME = makeTempFolder(t, 'data')
  t.equal(await openElsewhere('~/.mx/server', { HOME }), join(HOME, '.mx/server'))
  t.ok(existsSync(join(HOME, '.mx/server')))
})

t.test('a second server in the folder is refused until the first has closed it', async (t) => {
  const folder = makeTempFolder(t, 'data')
  const { close } = await openDataFolder(folder)
  await t.rejects(openDataFolder(folder), /is in use by another mx server/)
  await close()
  await (await openDataFolder(folder)).close()
})

t.test('a folder others can write to is refused', async (t) => {
  for (const mode of [0o777, 0o770, 0o702]) {
    const folder = makeFolder(t, mode)
    await t.rejects(openDataFolder(folder), {
      message: `others can write to the data folder ${folder} (mode ${mode.toString(8)}): chmod 700 it, or name another with --data_dir`,
    })
  }
  await (await openDataFolder(makeFolder(t, 0o755))).close()
})

t.test('what is no folder, or lies in none, is named', async (t) => {
  const file = join(makeTempFolder(t, 'data'), 'file')
  writeFileSync(file, '')
  for (const path of [file, join(file, 'server')])
    await t.rejects(openDataFolder(path), {
      message: `the data folder ${path} cannot be used: it is no folder; name another with --data_dir or MX_DATA_DIR`,
    })
})

t.test('what cannot be made is named at once', async (t) => {
  const link = join(makeTempFolder(t, 'data'), 'link')
  symlinkSync(join(link, '..', 'none'), link)
  for (const path of ['/proc/nope', '/proc/nope/server', link])
    await t.rejects(openDataFolder(path), {
      message: `the data folder ${path} cannot be used: it is not there, and cannot be made; name another with --data_dir or MX_DATA_DIR`,
    })
})

t.test('a folder of another user is refused', { skip: !IS_ROOT && 'needs root' }, async (t) => {
  const folder = makeFolder(t, 0o700)
  chownSync(folder, NOBODY, NOBODY)
  await t.rejects(openDataFolder(folder), {
    message: `the data folder ${folder} belongs to user ${NOBODY}, and this is user 0: change its owner, or name another with --data_dir`,
  })
})

t.test('a folder its user may not use is named', { skip: !IS_ROOT && 'needs root' }, async (t) => {
  const folder = makeFolder(t, 0o500)
  chownSync(folder, NOBODY, NOBODY)
  chmodSync(join(folder, '..'), 0o755)
  const reason = 'cannot be used: this user may not use it; name another with --data_dir'
  t.match(await openElsewhere(folder, {}, NOBODY), reason)
  t.match(await openElsewhere(join(folder, 'inside'), {}, NOBODY), reason)
})
