import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createLineWriter } from '../../../lib/io/buffered-line-writer.ts'
import { toNodeArgs } from '../../fixtures/programs.ts'

const unexpected = (name: unknown) => {
  throw new Error(`trouble: ${String(name)}`)
}

t.test(
  'close resolves after all lines are written in order, and the file has mode 0640',
  async (t) => {
    const target = join(t.testdir(), 'a.log')
    const writer = createLineWriter({ target, onError: unexpected, onRecover: unexpected })
    const lines = Array.from({ length: 5000 }, (_, i) => `line ${i} ${'x'.repeat(50)}\n`)
    for (const line of lines) writer.write(line)
    await writer.close()
    t.equal(readFileSync(target, 'latin1'), lines.join(''))
    t.equal(statSync(target).mode & 0o777, 0o640)
  },
)

t.test('lines are appended to an existing file', async (t) => {
  const target = join(t.testdir({ 'a.log': 'before\n' }), 'a.log')
  const writer = createLineWriter({ target, onError: unexpected, onRecover: unexpected })
  writer.write('after\n')
  await writer.close()
  t.equal(readFileSync(target, 'latin1'), 'before\nafter\n')
})

t.test('a single line is written after the flush interval without close', async (t) => {
  const target = join(t.testdir(), 'a.log')
  const writer = createLineWriter({
    target,
    flushMs: 1,
    onError: unexpected,
    onRecover: unexpected,
  })
  t.teardown(() => writer.close())
  writer.write('alone\n')
  const isWritten = () => readFileSync(target, 'latin1') === 'alone\n'
  while (!isWritten()) await new Promise((resolve) => setTimeout(resolve, 1))
  t.ok(isWritten())
})

t.test('a file that cannot be opened throws an error with its path', async (t) => {
  const target = join(t.testdir(), 'missing', 'a.log')
  t.throws(() => createLineWriter({ target, onError: unexpected, onRecover: unexpected }), {
    code: 'ENOENT',
    path: target,
  })
})

t.test('while a pipe reader stalls, lines over maxChars are dropped and counted', async (t) => {
  const target = join(t.testdir(), 'pipe')
  execFileSync('mkfifo', [target])
  const reader = openSync(target, constants.O_RDONLY | constants.O_NONBLOCK)
  t.teardown(() => closeSync(reader))
  const events: unknown[] = []
  let recovered: (dropped: number) => void = () => {}
  const recovery = new Promise<number>((resolve) => {
    recovered = resolve
  })
  const writer = createLineWriter({
    target,
    flushMs: 1,
    flushChars: 1000,
    maxChars: 200_000,
    onError: (error) => events.push(error),
    onRecover: (dropped) => recovered(dropped),
  })
  const line = `${'x'.repeat(99)}\n`
  for (let i = 0; i < 10_000; i++) writer.write(line)
  t.same(events, [undefined], 'onError is called once, without an error')
  let bytes = 0
  const drain = () => {
    const buffer = Buffer.alloc(65_536)
    for (;;) {
      try {
        const count = readSync(reader, buffer)
        if (count === 0) return
        bytes += count
      } catch {
        return
      }
    }
  }
  const pump = setInterval(drain, 1)
  const dropped = await recovery
  await writer.close()
  drain()
  clearInterval(pump)
  t.ok(dropped > 7000 && dropped < 10_000, `${dropped} dropped`)
  t.equal(bytes, (10_000 - dropped) * 100, 'every line was written completely or counted')
})

t.test('a closed stdout reports EPIPE and does not end the process', async (t) => {
  const writerFile = new URL('../../fixtures/line-writer-stdout.ts', import.meta.url)
  const child = spawn(process.execPath, toNodeArgs(writerFile), {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill())
  let errors = ''
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  await once(child.stdout, 'data')
  child.stdout.destroy()
  const [code, signal] = await once(child, 'exit')
  t.equal(code, 0, `${signal} ${errors}`)
  t.match(errors, /trouble EPIPE/)
})
