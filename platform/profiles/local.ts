import type { Settings } from '../settings.ts'

/** A plugin that runs without being asked for. */
export interface DefaultPlugin {
  readonly name: string
  /** Its options; undefined when it would have no effect and is left out. */
  readonly options: (settings: Settings) => object | undefined
}

/** The default plugins of a gateway on one machine, in chain order. `plugins:` in `mx.yaml` replaces the list. */
export const LOCAL_PLUGINS: readonly DefaultPlugin[] = [
  { name: 'request-id', options: () => ({}) },
  {
    name: 'access-log',
    options: ({ accessLog }) =>
      accessLog === 'off' ? undefined : { path: accessLog === 'on' ? 'stdout' : accessLog },
  },
  { name: 'server-timing', options: () => ({}) },
  {
    name: 'cors',
    options: ({ corsOrigins }) => (corsOrigins.length === 0 ? undefined : { origins: corsOrigins }),
  },
  { name: 'namespace', options: ({ namespace }) => (namespace === '' ? undefined : { namespace }) },
  { name: 'forwarded', options: ({ trustedProxies }) => ({ trusted: trustedProxies }) },
  {
    name: 'body-limit',
    options: ({ maxBodyBytes }) =>
      maxBodyBytes === Number.POSITIVE_INFINITY ? undefined : { limit: maxBodyBytes },
  },
]
