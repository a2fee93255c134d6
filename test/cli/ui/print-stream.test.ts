import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { toNodeArgs } from '../../fixtures/programs.ts'

const PROGRAM = new URL('../../fixtures/print-endlessly.ts', import.meta.url)

function start(...args: string[]) {
  const child = spawn(process.execPath, toNodeArgs(PROGRAM, ...args), {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

t.test('a stream ends with status 0 on Ctrl-C', async (t) => {
  const child = start()
  t.match(String((await once(child.stdout, 'data'))[0]), /^0\n/)
  child.kill('SIGINT')
  child.stdout.resume()
  t.same(await once(child, 'close'), [0, null])
})

t.test('a stream ends with status 0 when its reader closes the pipe', async (t) => {
  const child = start()
  await once(child.stdout, 'data')
  child.stdout.destroy()
  t.same(await once(child, 'exit'), [0, null])
})

t.test('the program continues after the end of a stream', async (t) => {
  const child = start('3')
  let text = ''
  child.stdout.on('data', (chunk) => {
    text += chunk
  })
  t.same(await once(child, 'close'), [0, null])
  t.equal(text, '0\n1\n2\nthe end\n')
})
