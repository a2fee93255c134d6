import type { Workload } from '../../core/contracts/runtime.ts'
import type { ServiceAccount } from './accounts.ts'
import type { Revision, ServiceRecord } from './state/records.ts'

export interface WorkloadInput {
  readonly record: ServiceRecord
  readonly revision: Revision
  /** Decrypted secrets. */
  readonly secrets: Readonly<Record<string, string>>
  readonly account: ServiceAccount
  /** Address of the RPC proxy for services as `host:port`. */
  readonly proxy: string
}

/** Converts a revision to a workload with the environment of reference 7.5. */
export function toWorkload(input: WorkloadInput): Workload {
  const { record, revision, secrets, account, proxy } = input
  const { namespace, name, version } = record
  const { id, program, instances, resources, protocol, port } = revision
  return {
    ...{ namespace, name, version, revision: id, program, instances, resources, protocol },
    ...(port !== 0 && { port }),
    ...(record.current?.id === id && { wasReady: true }),
    env: {
      MX_PROFILE: 'service',
      MX_SERVICE_NAME: name,
      MX_SERVICE_VERSION: version,
      MX_PROXY: proxy,
      ...revision.env,
      ...secrets,
      MX_NAMESPACE: namespace,
      MX_AUTH_ID: account.id,
      MX_AUTH_SECRET: account.secret,
    },
  }
}
