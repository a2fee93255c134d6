import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { type CommandOptions, runCommand } from '../../../../services/runtime/jobs/run-command.ts'
import { LOADER, toModule } from '../../../fixtures/programs.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const PATH = process.env['PATH']!

function run(t: Test, line: string, overrides: Partial<CommandOptions> = {}) {
  const events: string[] = []
  const cwd = overrides.cwd ?? makeTempFolder(t, 'run')
  const ended = runCommand(['/bin/sh', '-c', line], {
    cwd,
    env: { PATH, ONLY: 'this' },
    onOutput: (text) => events.push(text),
    signal: new AbortController().signal,
    ...overrides,
  })
  return { cwd, ended, output: () => events.join('') }
}

async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await pause(10)
}

function isRunning(pid: number): boolean {
  try {
    // A zombie in a container without an init process does not run.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

t.test('streams the output and returns how the program ended', async (t) => {
  const succeeded = run(t, 'echo out; echo err >&2')
  t.match(await succeeded.ended, { isDone: true, outcome: 'exit status 0' })
  t.match(succeeded.output(), /out\n/)
  t.match(succeeded.output(), /err\n/)
  const bad = await run(t, 'echo why >&2; exit 3').ended
  t.strictSame(bad, { isDone: false, outcome: 'exit status 3', tail: 'why' })
  t.match(await run(t, 'kill -9 $$').ended, { isDone: false, outcome: 'SIGKILL' })
  t.match(await run(t, 'exec there-is-none').ended, { outcome: 'program not found' })
  const long = await run(t, 'yes | head -c 100000; echo end').ended
  t.ok(long.tail.endsWith('end') && long.tail.length < 5000)
})

t.test('passes standard output separately if requested', async (t) => {
  let stdout = ''
  const onStdout = (text: string) => {
    stdout += text
  }
  const { ended, output } = run(t, 'echo out; echo err >&2', { onStdout })
  await ended
  t.equal(stdout, 'out\n')
  t.equal(output(), 'err\n')
})

t.test('passes exactly the requested environment', async (t) => {
  const { ended, output } = run(t, 'env')
  await ended
  t.match(output(), /ONLY=this/)
  t.notMatch(output(), /HOME=/)
})

t.test('kills the process group when the program ends or is cancelled', async (t) => {
  const running = run(t, 'sleep 60 >/dev/null 2>&1 & echo $!')
  await running.ended
  await waitUntil(() => !isRunning(Number(running.output())))

  const abort = new AbortController()
  const unstoppable = run(t, 'trap "" TERM INT; sleep 60 & echo $!; wait; sleep 60', {
    signal: abort.signal,
  })
  await waitUntil(() => unstoppable.output() !== '')
  abort.abort(new Error('enough'))
  await t.rejects(unstoppable.ended, { message: 'enough' })
  await waitUntil(() => !isRunning(Number(unstoppable.output())))
  await t.rejects(run(t, 'echo', { signal: abort.signal }).ended, { message: 'enough' })
})

t.test('does not wait for a detached process that keeps the output open', async (t) => {
  const abort = new AbortController()
  const running = run(t, 'setsid sleep 60 & echo $!', { signal: abort.signal })
  t.match(await running.ended, { isDone: true })
  process.kill(Number(running.output()), 'SIGKILL')

  const aborted = run(t, 'setsid sleep 60 & echo $!; sleep 60', { signal: abort.signal })
  await waitUntil(() => aborted.output() !== '')
  abort.abort(new Error('enough'))
  await t.rejects(aborted.ended, { message: 'enough' })
  process.kill(Number(aborted.output()), 'SIGKILL')
})

t.test('fails for a missing working folder', async (t) => {
  const cwd = join(makeTempFolder(t, 'run'), 'none')
  await t.rejects(run(t, 'echo', { cwd }).ended, { code: 'ENOENT' })
})

t.test('exits with this process, even if this process is killed', async (t) => {
  const module = toModule(
    new URL('../../../../services/runtime/jobs/run-command.ts', import.meta.url),
  )
  const program = `
    import { runCommand } from ${JSON.stringify(pathToFileURL(module.pathname).href)}
    await runCommand(['/bin/sh', '-c', 'sleep 60 & echo $!; wait'], {
      cwd: '/', env: { PATH: process.env.PATH }, signal: new AbortController().signal,
      onOutput: (text) => process.stdout.write(text),
    })`
  const args = [...LOADER, '--input-type=module', '--eval', program]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [text] = (await once(child.stdout, 'data')) as [Buffer]
  const pid = Number(text)
  t.ok(isRunning(pid))
  child.kill('SIGKILL')
  await waitUntil(() => !isRunning(pid))
})

t.test('kills a program that exceeds its limits and reports the limit', async (t) => {
  const bounds = { memoryBytes: 2 ** 40, processes: 3 }
  const forking = run(t, 'for i in 1 2 3 4 5 6; do sleep 100 & done; wait', { bounds })
  t.match(await forking.ended, { isDone: false, outcome: /^it had \d+ processes, limit 3$/ })
  t.match(await run(t, 'true', { bounds }).ended, { isDone: true, outcome: 'exit status 0' })
})
