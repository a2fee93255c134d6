import { call } from '../rpc/caller.ts'

/** Response of `Config.Get` (reference 3). */
export interface Reading {
  readonly value: {
    /** JSON text. */
    readonly data: string
  }
  readonly exists: boolean
  /** Version of the namespace's configuration. */
  readonly version: number
}

/** An entry of the history. */
export interface ConfigVersion {
  readonly version: number
  /** Unix time in seconds. */
  readonly timestamp: number
  /** Empty if unknown. */
  readonly account: string
  readonly action: string
  readonly path: string
  readonly secret: boolean
}

interface ChangeResponse {
  readonly version: number
}

/** Sets a value. @param data JSON text. @returns the new version. */
export async function setValue(path: string, data: string, secret: boolean): Promise<number> {
  const request = { path, value: { data }, options: { secret } }
  return (await call<ChangeResponse>('config', 'Config.Set', request)).body.version
}

/** Deletes a value. @returns the new version. */
export async function deleteValue(path: string): Promise<number> {
  return (await call<ChangeResponse>('config', 'Config.Delete', { path })).body.version
}

/** Rolls back to a version. @returns the new version. */
export async function rollBack(version: number): Promise<number> {
  return (await call<ChangeResponse>('config', 'Config.Rollback', { version })).body.version
}

/** Reads the JSON text of a value, including secrets. */
export async function revealValue(path: string): Promise<string> {
  const request = { path, options: { secret: true } }
  return (await call<Reading>('config', 'Config.Get', request)).body.value.data
}

/** Reads all values of a version, with secrets hidden. */
export async function readVersion(version: number, signal: AbortSignal): Promise<Reading> {
  const request = { path: '', options: { version } }
  return (await call<Reading>('config', 'Config.Get', request, { signal })).body
}

export async function readHistory(signal: AbortSignal): Promise<readonly ConfigVersion[]> {
  type Response = { readonly versions: readonly ConfigVersion[] }
  return (await call<Response>('config', 'Config.History', {}, { signal })).body.versions
}
