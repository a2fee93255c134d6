import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startMx } from '../fixtures/mx.ts'

const cwd = t.testdir({ bin: {} })
const folder = join(cwd, 'bin')
const PATH = `${folder}:${process.env['PATH']}`

function install(name: string, script: string, mode = 0o755): void {
  const path = join(folder, name)
  writeFileSync(path, `#!/bin/sh\n${script}\n`)
  chmodSync(path, mode)
}

t.test('a program mx-<word> on PATH runs as a command with its arguments', async (t) => {
  install('mx-greet', 'echo "$MX_ENV $MX_NAMESPACE:$*"; exit 3')
  const args = ['--env=dev', '--namespace', 'shop', 'greet', '--name=a b', '-x', '--help']
  const { output, ended } = startMx(args, { cwd, env: { PATH } })
  t.equal(await ended, 3)
  t.equal(output.stdout, 'dev shop:--name=a b -x --help\n')
})

t.test('a signal is forwarded to the program, and its exit status is returned', async (t) => {
  install('mx-wait', "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done")
  const { child, waitUntil, ended } = startMx(['wait'], { cwd, env: { PATH } })
  await waitUntil(/ready/)
  child.kill('SIGTERM')
  t.equal(await ended, 7)
})

t.test('a built-in command takes precedence, and a non-executable file is ignored', async (t) => {
  install('mx-version', 'echo mine')
  install('mx-text', 'echo text', 0o644)
  const built = startMx(['version'], { cwd, env: { PATH } })
  t.equal(await built.ended, 0)
  t.match(built.output.stdout, /^mx\/\d/)
  const text = startMx(['text'], { cwd, env: { PATH, MX_ENV_LOCAL_ADDRESS: '127.0.0.1:1' } })
  t.not(await text.ended, 0)
  t.equal(text.output.stdout, '')
})
