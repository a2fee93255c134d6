import type { HeaderList } from '../../http/headers.ts'

/** Returns the delay requested by a response in milliseconds; 0 if absent or malformed (RFC 9110 §10.2.3). */
export function readRetryAfterMs(headers: Pick<HeaderList, 'get'>): number {
  const value = headers.get('retry-after')?.trim() ?? ''
  if (/^\d+$/.test(value)) return Number(value) * 1000
  return Math.max(0, Date.parse(value) - Date.now()) || 0
}
