import t from 'tap'
import { createReloader } from '../../../platform/config/reloader.ts'
import type { Configuration } from '../../../platform/config/types.ts'
import { NO_CONFIG } from '../../../platform/config/types.ts'
import type { Log } from '../../../platform/process/log.ts'
import { mergeSettings, SettingsError } from '../../../platform/settings/sources.ts'

const CONFIGURATION: Configuration = {
  settings: mergeSettings(),
  config: NO_CONFIG,
  inputs: new Map(),
  file: undefined,
}

function collectErrors(): { log: Log; lines: string[] } {
  const lines: string[] = []
  const error = (first: unknown, second?: string) => lines.push(second ?? String(first))
  return { lines, log: { error } as unknown as Log }
}

t.test('applies the loaded configuration', async (t) => {
  const applied: Configuration[] = []
  const { log, lines } = collectErrors()
  const apply = (next: Configuration) => void applied.push(next)
  await createReloader(async () => CONFIGURATION, apply, log)()
  t.same([applied.length, lines], [1, []])
})

t.test('logs every problem of a rejected configuration and applies nothing', async (t) => {
  const { log, lines } = collectErrors()
  const load = async () => {
    throw new SettingsError(['mx.yaml:1:1: a', 'mx.yaml:2:1: b'])
  }
  await createReloader(load, () => void t.fail('must not be applied'), log)()
  t.match(lines, [
    /rejected: mx\.yaml:1:1: a; the previous/,
    /rejected: mx\.yaml:2:1: b; the previous/,
  ])
})

t.test('logs a failure to apply, and reloads again afterwards', async (t) => {
  const { log, lines } = collectErrors()
  let applied = 0
  const apply = () => {
    if (applied++ === 0) throw new Error('no')
  }
  const reload = createReloader(async () => CONFIGURATION, apply, log)
  await reload()
  await reload()
  t.equal(applied, 2)
  t.match(lines, [/reload failed; the previous configuration stays in use/])
})

t.test('calls during a reload cause exactly one more reload', async (t) => {
  let loads = 0
  let go = (): void => {}
  const load = () => {
    loads++
    return new Promise<Configuration>((resolve) => {
      go = () => resolve(CONFIGURATION)
    })
  }
  const reload = createReloader(load, () => {}, collectErrors().log)
  const calls = [reload(), reload(), reload()]
  go()
  while (loads < 2) await new Promise(setImmediate)
  go()
  await Promise.all(calls)
  t.equal(loads, 2)
})
