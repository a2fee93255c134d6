import t from 'tap'
import { createReloader } from '../../../platform/config/reloader.ts'
import type { Log } from '../../../platform/process/log.ts'
import { SettingsError } from '../../../platform/settings/sources.ts'

function collectErrors(): { log: Log; lines: string[] } {
  const lines: string[] = []
  const error = (first: unknown, second?: string) => lines.push(second ?? String(first))
  return { lines, log: { error } as unknown as Log }
}

t.test('logs every problem of a rejected configuration', async (t) => {
  const { log, lines } = collectErrors()
  const reload = async () => {
    throw new SettingsError(['mx.yaml:1:1: a', 'mx.yaml:2:1: b'])
  }
  await createReloader(reload, log)()
  t.match(lines, [
    /rejected: mx\.yaml:1:1: a; the previous/,
    /rejected: mx\.yaml:2:1: b; the previous/,
  ])
})

t.test('logs a failure to apply, and reloads again afterwards', async (t) => {
  const { log, lines } = collectErrors()
  let applied = 0
  const reload = createReloader(async () => {
    if (applied++ === 0) throw new Error('no')
  }, log)
  await reload()
  await reload()
  t.equal(applied, 2)
  t.match(lines, [/reload failed; the previous configuration stays in use/])
})

t.test('calls during a reload cause exactly one more reload', async (t) => {
  let reloads = 0
  let release = (): void => {}
  const reload = createReloader(() => {
    reloads++
    return new Promise<void>((resolve) => {
      release = resolve
    })
  }, collectErrors().log)
  const calls = [reload(), reload(), reload()]
  release()
  while (reloads < 2) await new Promise(setImmediate)
  release()
  await Promise.all(calls)
  t.equal(reloads, 2)
})
