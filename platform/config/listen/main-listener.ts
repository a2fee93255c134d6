import { suggest } from '../../../lib/text/did-you-mean.ts'
import { type Address, formatAddress } from '../../settings/parse/address.ts'
import { SETTINGS, type Settings, type SettingsInput } from '../../settings/settings.ts'
import { isSamePort } from '../../settings/validate.ts'
import type { Configuration, ConfiguredListener, ConfiguredRoute } from '../types.ts'

/** Settings that `listen:` replaces. */
export const LISTEN_KEYS: readonly (keyof Settings)[] = [
  'address',
  'enableTls',
  'enableAcme',
  'tlsCertFiles',
  'tlsKeyFiles',
  'tlsClientCa',
  'tlsClientAuth',
  'acmeAddress',
]

/** Listeners of `listen:`, grouped by role. */
export interface ListenerRoles {
  /**
   * Listener configured by `address` and the TLS settings: the first with ACME, otherwise the first
   * with TLS, otherwise the first.
   */
  readonly main: ConfiguredListener
  /**
   * Listener that redirects to HTTPS and serves ACME challenges, like `acme_address`; undefined if
   * none.
   */
  readonly challenges: ConfiguredListener | undefined
  readonly others: readonly ConfiguredListener[]
}

export function assignRoles(listen: readonly ConfiguredListener[]): ListenerRoles | undefined {
  const main = listen.find(({ tls }) => tls?.hasAcme) ?? listen.find(({ tls }) => tls) ?? listen[0]
  if (main === undefined) return undefined
  const challenges = main.tls?.hasAcme ? listen.find((each) => each.httpsRedirect) : undefined
  return {
    ...{ main, challenges },
    others: listen.filter((each) => each !== main && each !== challenges),
  }
}

/** Returns the settings of the main listener and the ACME challenge listener. */
export function toListenSettings(listen: readonly ConfiguredListener[]): SettingsInput {
  const roles = assignRoles(listen)
  if (roles === undefined) return new Map()
  const { main, challenges } = roles
  const { tls } = main
  const values: Partial<Record<keyof Settings, readonly string[]>> = {
    address: [formatAddress(main.address)],
    ...(tls && { enableTls: ['true'] }),
    ...(tls?.hasAcme && { enableAcme: ['true'] }),
    ...(tls && tls.certFiles.length > 0 && { tlsCertFiles: tls.certFiles }),
    ...(tls && tls.keyFiles.length > 0 && { tlsKeyFiles: tls.keyFiles }),
    ...(tls && tls.clientCa !== '' && { tlsClientCa: [tls.clientCa] }),
    ...(tls?.clientAuth === 'optional' && { tlsClientAuth: ['optional'] }),
    ...(challenges && { acmeAddress: [formatAddress(challenges.address)] }),
  }
  return new Map(
    (Object.entries(values) as [keyof Settings, readonly string[]][]).map(([key, texts]) => {
      const { at } = key === 'acmeAddress' ? challenges! : main
      return [key, { source: `${at}: ${SETTINGS[key].name} of listen`, values: texts }]
    }),
  )
}

/** Returns routes that refer to unknown listeners, as one-line problems. */
export function findUnknownListeners(
  routes: readonly ConfiguredRoute[],
  listen: readonly ConfiguredListener[],
): readonly string[] {
  const names = listen.map(({ name }) => name)
  return routes.flatMap(({ name, match, at }) =>
    match.listeners
      .filter((listener) => !names.includes(listener))
      .map((listener) => {
        const suggestion = suggest(listener, names)
        const hint =
          suggestion === undefined ? 'add it under "listen"' : `did you mean ${suggestion}?`
        return `${at}: route ${name} names the unknown listener ${listener}: ${hint}`
      }),
  )
}

/** Returns conflicts between the settings and the additional listeners, as one-line problems. */
export function validateListen({ settings, config, inputs }: Configuration): readonly string[] {
  const { listener, enableAcme, http2Address, acmeAddress, adminAddress } = settings
  const used = [
    ...[['address', settings.address] as const, ['http2_address', http2Address] as const],
    ...(enableAcme ? [['acme_address', acmeAddress] as const] : []),
    ...(inputs.has('adminAddress') ? [['admin_address', adminAddress] as const] : []),
  ]
  return listOthers(config.listen).flatMap(({ name, address, tls, at }) => [
    ...used
      .filter(([, other]) => other !== undefined && isSamePort(other, address))
      .map(
        ([setting]) =>
          `${at}: listener ${name} must have a different address than ${setting}, got ${formatAddress(address)}`,
      ),
    ...(tls !== undefined && tls.clientCa !== '' && listener === 'uws'
      ? [`${at}: client_ca of listener ${name} needs --listener=node`]
      : []),
  ])
}

/**
 * Returns the additional listeners, except the ACME challenge listener, with their actual ports.
 */
export function listOthers(
  listen: readonly ConfiguredListener[],
  ports: ReadonlyMap<string, number> = new Map(),
): readonly ConfiguredListener[] {
  const { others = [] } = assignRoles(listen) ?? {}
  return others.map((each) => ({
    ...each,
    address: { ...each.address, port: ports.get(each.name) ?? each.address.port },
  }))
}

/** Returns the URLs of {@link listOthers}. */
export function formatOthers(
  listen: readonly ConfiguredListener[],
  ports: ReadonlyMap<string, number>,
): readonly string[] {
  return listOthers(listen, ports).map(
    ({ address, tls }) => `${tls === undefined ? 'http' : 'https'}://${formatAddress(address)}`,
  )
}

/** Replaces the addresses of {@link listOthers}. Removes listeners without an address. */
export function setAddresses(
  listen: readonly ConfiguredListener[],
  addresses: ReadonlyMap<string, Address>,
): readonly ConfiguredListener[] {
  const { others = [] } = assignRoles(listen) ?? {}
  return listen.flatMap((listener) => {
    if (!others.includes(listener)) return [listener]
    const address = addresses.get(listener.name)
    return address === undefined ? [] : [{ ...listener, address }]
  })
}

/**
 * Returns the plain HTTP listeners that redirect, except the ACME challenge listener; undefined if
 * none.
 */
export function findRedirects(
  listen: readonly ConfiguredListener[],
): { readonly names: readonly string[]; readonly at: string } | undefined {
  const { main, others = [] } = assignRoles(listen) ?? {}
  const redirects = others.filter(({ httpsRedirect }) => httpsRedirect)
  if (main === undefined || redirects.length === 0) return undefined
  return { names: redirects.map(({ name }) => name), at: redirects[0]!.at }
}
