import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { bundleCli } from '../../scripts/bundle-cli.ts'
import { ROOT } from '../../scripts/root.ts'

// Where the real one is: what it loads of the build is found from there.
const folder = join(ROOT, 'dist/cli', `bundle-test-${process.pid}`)
t.teardown(() => rm(folder, { recursive: true, force: true }))
t.before(() => bundleCli(folder))

function mx(...words: string[]): Promise<{ stdout: string; stderr: string; code?: number }> {
  const env = {
    PATH: process.env['PATH'],
    HOME: t.testdirName,
    MX_ENV_LOCAL_ADDRESS: '127.0.0.1:1',
  }
  return promisify(execFile)(process.execPath, [join(folder, 'mx.js'), ...words], { env }).catch(
    (error) => error,
  )
}

t.test('the bundle is the program, with the same texts and statuses', async (t) => {
  t.match(await mx('--help'), { stdout: /^mx\/\d.*\n\nUsage:\n/ })
  t.match(await mx('version'), { stdout: /^mx\/\d/ })
  t.match(await mx('services'), {
    code: 4,
    stderr: "mx: Failed to connect to mx server at 127.0.0.1:1: start one with 'mx server'\n",
  })
})

t.test('commands that start the platform are found from it, and so are their errors', async (t) => {
  t.match(await mx('api', '--wokers=1'), {
    code: 2,
    stderr: 'mx: unknown flag --wokers, did you mean --workers?\n',
  })
})
