import { createDnsServices, type DnsServices } from '../../adapters/registry/dns/dns-services.ts'
import type { Service } from '../../core/contracts/registry.ts'
import type { Log } from '../process/log.ts'

/** Resolves the names of configured services and logs failures. */
export function openDns(log: Log, onChange: (services: readonly Service[]) => void): DnsServices {
  return createDnsServices({
    onChange,
    onFailure: (service, name, err) =>
      log.warn({ service, name, err }, 'cannot resolve name; the last known addresses stay in use'),
    onRecovery: (service, name) => log.info({ service, name }, 'name resolved again'),
  })
}
