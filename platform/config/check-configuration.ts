import type { Disposer } from '../../lib/async/disposer.ts'
import { openClientCa } from '../gateway/listeners/choose-listener.ts'
import { openAdditionalListeners } from '../gateway/listeners/open-others.ts'
import { openPipeline } from '../gateway/pipeline.ts'
import { createUpstreams } from '../gateway/upstreams.ts'
import { formatSpecifier, planPlugins } from '../plugins/plan.ts'
import type { Log } from '../process/log.ts'
import { openRemoteAuthorizer } from '../rpc-proxy/remote-authorizer.ts'
import { formatAddress } from '../settings/parse/address.ts'
import { SELF_SIGNED } from '../settings/parse/tls.ts'
import { openTls } from '../tls/open.ts'
import { listNames } from './configured-services.ts'
import { lintConfiguration } from './lint.ts'
import { formatOthers } from './listen/main-listener.ts'
import { describeServices, type ServiceView } from './services/describe.ts'
import type { Configuration } from './types.ts'

/** Summary of a valid configuration. */
export interface CheckedApi {
  /** Path of the configuration file; undefined if there is no file. */
  readonly file: string | undefined
  readonly address: string
  /** URLs of the additional listeners of `listen:`. */
  readonly others: readonly string[]
  readonly handler: string
  /** Plugins in the order of execution. */
  readonly plugins: readonly string[]
  readonly services: readonly string[]
  /**
   * Explicit settings of services, by full name. Services without explicit settings are omitted.
   */
  readonly serviceSettings: Readonly<Record<string, ServiceView>>
  readonly warnings: readonly string[]
}

/**
 * Builds all parts of a gateway except its listeners, and closes them. The summary contains
 * references instead of their values.
 *
 * @throws {SettingsError} for invalid plugins, certificates or settings.
 */
export async function checkApi(
  configuration: Configuration,
  log: Log,
  closing: Disposer,
): Promise<CheckedApi> {
  const { hidden } = configuration.config.references
  return hidden.hideDeep(await hidden.guard(() => build(configuration, log, closing)))
}

async function build(
  configuration: Configuration,
  log: Log,
  closing: Disposer,
): Promise<CheckedApi> {
  const { settings, file } = configuration
  const upstreams = createUpstreams(configuration, {
    maxConnections: 1,
    findCaller: undefined,
    log,
  })
  const plan = planPlugins(configuration)
  const { buildChain } = await openPipeline(
    {
      configuration,
      events: {},
      authorizer: (await openRemoteAuthorizer(settings, log, closing))?.authorizer,
      upstream: upstreams.of,
      log,
    },
    closing,
  )
  const chain = await buildChain(configuration, plan)
  closing.add(() => chain.close(() => {}))
  // ACME and self-signed certificates do not exist yet.
  const usesCertificateFiles = !settings.enableAcme && settings.tlsCertFiles[0] !== SELF_SIGNED
  const tls = usesCertificateFiles ? await openTls(settings, log, { folder: undefined }) : undefined
  closing.add(() => tls?.close())
  const clientCa = openClientCa(settings, log)
  closing.add(() => clientCa?.close())
  await openAdditionalListeners(configuration, tls, log, closing, undefined)
  return {
    file,
    address: formatAddress(settings.address),
    others: formatOthers(configuration.config.listen, new Map()),
    handler: settings.handler,
    plugins: plan.map(formatSpecifier),
    services: listNames(configuration),
    serviceSettings: describeServices(configuration),
    warnings: lintConfiguration(configuration),
  }
}
