import type { Log } from '../process/log.ts'
import { lintConfiguration } from './lint.ts'
import type { Configuration } from './types.ts'
import { diffConfigurations } from './versions/diff.ts'

/** Logs the changes made by a reload, settings that require a restart, and new warnings. */
export function reportReload(
  before: Configuration,
  after: Configuration,
  restart: readonly string[],
  log: Log,
): void {
  if (restart.length > 0) log.warn(`restart required to apply: ${restart.join(', ')}`)
  log.info(findChanges(before, after), 'configuration reloaded')
  const known = lintConfiguration(before)
  for (const warning of lintConfiguration(after)) if (!known.includes(warning)) log.warn(warning)
}

/** Returns the names of changed items by kind, without empty kinds. Exported for its test. */
export function findChanges(
  before: Configuration,
  after: Configuration,
): Readonly<Record<string, readonly string[]>> {
  const changes: Record<string, string[]> = {}
  for (const { kind, name, change } of diffConfigurations(before, after)) {
    const suffix = `${change[0]!.toUpperCase()}${change.slice(1)}`
    const key = kind === 'setting' ? 'settings' : kind === 'order' ? kind : `${kind}s${suffix}`
    changes[key] = [...(changes[key] ?? []), name]
  }
  return changes
}
