import { resolve } from 'node:path'
import { isSeq } from 'yaml'
import type { Address } from '../../settings/parse/address.ts'
import { formatAddress, parseGatewayAddress } from '../../settings/parse/address.ts'
import { SELF_SIGNED } from '../../settings/parse/tls.ts'
import { isSamePort } from '../../settings/validate.ts'
import { readMap, readText } from '../actions/read-map.ts'
import type { ConfiguredListener, ListenerTls } from '../types.ts'
import type { YamlEntry, YamlSource } from '../yaml-source.ts'

const KEYS = ['name', 'address', 'tls', 'https_redirect']
const TLS_KEYS = ['cert', 'key', 'acme', 'client_ca', 'client_auth']
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/

/** Reads `listen:`. */
export function readListen(
  source: YamlSource,
  { key, value }: YamlEntry,
  folder: string,
): readonly ConfiguredListener[] {
  const list = source.follow(value)
  if (!isSeq(list) || list.items.length === 0) {
    source.report(value ?? key, 'listen must be a list of listeners such as { address: ":8080" }')
    return []
  }
  const listeners: ConfiguredListener[] = []
  for (const [i, item] of list.items.entries()) {
    const listener = readListener(source, item, `${i + 1}`, folder)
    if (listener === undefined) continue
    for (const other of listeners) {
      if (other.name === listener.name)
        source.report(item, `duplicate listener name "${listener.name}"`)
      if (isSamePort(other.address, listener.address))
        source.report(
          item,
          `listener ${listener.name} must have a different address than listener ${other.name}, got ${formatAddress(listener.address)}`,
        )
    }
    listeners.push(listener)
  }
  if (!listeners.some(({ tls }) => tls)) {
    for (const { item, name } of listeners.map((each, i) => ({ ...each, item: list.items[i] })))
      if (listeners.find((each) => each.name === name)?.httpsRedirect)
        source.report(item, `https_redirect of listener ${name} needs another listener with tls`)
  }
  return listeners
}

function readListener(
  source: YamlSource,
  item: unknown,
  position: string,
  folder: string,
): ConfiguredListener | undefined {
  const label = `listener ${position}`
  const before = source.problems.length
  const entries = readMap(source, label, { key: item, value: item }, KEYS)
  if (source.problems.length > before) return undefined
  const name = readText(source, entries.get('name'), 'name') ?? position
  if (!NAME.test(name))
    source.report(
      item,
      `name of ${label} must be letters, digits, dots, dashes or underscores, at most 100, got ${JSON.stringify(name)}`,
    )
  const address = readAddress(source, label, item, entries.get('address'))
  const tls = entries.get('tls')
  const listenerTls = tls && readTls(source, label, tls, folder)
  const httpsRedirect = readSwitch(source, label, entries.get('https_redirect'))
  if (httpsRedirect && tls !== undefined)
    source.report(item, `https_redirect of ${label} has no effect with tls: remove one of them`)
  if (source.problems.length > before || address === undefined) return undefined
  return { name, address, tls: listenerTls, httpsRedirect, at: source.at(item) }
}

function readAddress(
  source: YamlSource,
  label: string,
  item: unknown,
  entry: YamlEntry | undefined,
): Address | undefined {
  const text = readText(source, entry, `address of ${label}`)
  if (entry === undefined) source.report(item, `${label} needs an address such as ":8080"`)
  if (text === undefined) return undefined
  try {
    return parseGatewayAddress(text)
  } catch (error) {
    source.report(entry!.value, `address of ${label} ${(error as Error).message}`)
    return undefined
  }
}

function readTls(
  source: YamlSource,
  label: string,
  entry: YamlEntry,
  folder: string,
): ListenerTls | undefined {
  const before = source.problems.length
  const entries = readMap(source, `tls of ${label}`, entry, TLS_KEYS)
  if (source.problems.length > before) return undefined
  const files = (key: string): readonly string[] => {
    const { value } = entries.get(key) ?? {}
    if (value === undefined) return []
    return source
      .texts(value, `${key} of ${label}`)
      .map(({ text }) => (text === SELF_SIGNED ? text : resolve(folder, text)))
  }
  const hasAcme = readSwitch(source, label, entries.get('acme'))
  const certFiles = files('cert')
  const keyFiles = files('key')
  const isSelfSigned = certFiles[0] === SELF_SIGNED
  if (
    hasAcme === certFiles.length > 0 ||
    certFiles.length !== keyFiles.length + Number(isSelfSigned)
  )
    source.report(
      entry.key,
      `tls of ${label} must have cert and key with the same number of files, or cert: ${SELF_SIGNED}, or acme: true`,
    )
  const clientAuth = readText(source, entries.get('client_auth'), 'client_auth') ?? 'required'
  if (clientAuth !== 'required' && clientAuth !== 'optional')
    source.report(
      entries.get('client_auth')!.value,
      `client_auth of ${label} must be required or optional, got ${JSON.stringify(clientAuth)}`,
    )
  const clientCa = readText(source, entries.get('client_ca'), 'client_ca')
  if (clientCa === undefined && entries.has('client_auth'))
    source.report(entry.key, `client_auth of ${label} has no effect without client_ca`)
  return {
    ...{ hasAcme, certFiles, keyFiles },
    clientCa: clientCa === undefined ? '' : resolve(folder, clientCa),
    clientAuth: clientAuth as ListenerTls['clientAuth'],
  }
}

function readSwitch(source: YamlSource, label: string, entry: YamlEntry | undefined): boolean {
  const text = readText(source, entry, `${entry?.name} of ${label}`)
  if (text !== undefined && text !== 'true' && text !== 'false')
    source.report(entry!.value, `${entry!.name} of ${label} must be true or false, got ${text}`)
  return text === 'true'
}
