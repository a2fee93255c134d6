import type { PluginLog } from '../../core/plugin/define.ts'
import { PAYLOAD_MAX_BYTES } from '../../core/rpc/ws/frames.ts'
import type { ServiceEntry } from './entry.ts'

/** Maximum size of the entries in a message as JSON. The rest is reserved for the envelope. */
export const MAX_ENTRIES_BYTES: number = PAYLOAD_MAX_BYTES - 1024 * 1024
/** Maximum number of versions that are reported, each of them once. */
const MAX_REPORTED = 1000

/** Reports an entry that is too large for a message. */
export type ReportOmitted = (entry: ServiceEntry, bytes: number) => void

/**
 * Creates a reporter that logs each version once, up to a thousand versions.
 *
 * Entries registered through this service always fit. A registry with entries from other programs
 * may contain larger ones, which are omitted from lists.
 */
export function createReportOmitted(log: PluginLog): ReportOmitted {
  const reported = new Set<string>()
  return ({ name, version, options: { domain } }, bytes) => {
    const key = `${name} ${version} ${domain}`
    if (reported.has(key) || reported.size === MAX_REPORTED) return
    reported.add(key)
    log.warn({ name, version, domain, bytes }, 'service version skipped: too large for a message')
  }
}

/** Returns the entries that fit into a message, in order. */
export function truncateToMessage(
  entries: readonly ServiceEntry[],
  onOmit: ReportOmitted,
): readonly ServiceEntry[] {
  let used = 0
  return entries.filter((entry) => {
    const bytes = Buffer.byteLength(JSON.stringify(entry)) + 1
    if (used + bytes > MAX_ENTRIES_BYTES) {
      onOmit(entry, bytes)
      return false
    }
    used += bytes
    return true
  })
}
