import { call } from '../rpc/caller.ts'

/** What a path leads to, as the service `config` tells it (reference 3). */
export interface Reading {
  readonly value: {
    /** JSON. */
    readonly data: string
  }
  readonly exists: boolean
  /** Of the namespace. */
  readonly version: number
}

/** A version that is kept. */
export interface ConfigVersion {
  readonly version: number
  /** Seconds since 1970. */
  readonly timestamp: number
  /** Empty: nobody knows who made it. */
  readonly account: string
  readonly action: string
  readonly path: string
  readonly secret: boolean
}

interface Changed {
  readonly version: number
}

/** @param data JSON. @returns the version that it made. */
export async function setValue(path: string, data: string, secret: boolean): Promise<number> {
  const request = { path, value: { data }, options: { secret } }
  return (await call<Changed>('config', 'Config.Set', request)).body.version
}

/** @returns the version that it made. */
export async function deleteValue(path: string): Promise<number> {
  return (await call<Changed>('config', 'Config.Delete', { path })).body.version
}

/** @returns the version that it made. */
export async function rollBack(version: number): Promise<number> {
  return (await call<Changed>('config', 'Config.Rollback', { version })).body.version
}

/** JSON of a value, also of a secret. */
export async function revealValue(path: string): Promise<string> {
  const request = { path, options: { secret: true } }
  return (await call<Reading>('config', 'Config.Get', request)).body.value.data
}

/** All that there was with a version; secrets are hidden. */
export async function readVersion(version: number, signal: AbortSignal): Promise<Reading> {
  const request = { path: '', options: { version } }
  return (await call<Reading>('config', 'Config.Get', request, { signal })).body
}

export async function readHistory(signal: AbortSignal): Promise<readonly ConfigVersion[]> {
  type Reply = { readonly versions: readonly ConfigVersion[] }
  return (await call<Reply>('config', 'Config.History', {}, { signal })).body.versions
}
