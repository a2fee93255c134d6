import type * as api from '@opentelemetry/api'
import type * as exporter from '@opentelemetry/exporter-trace-otlp-http'
import type * as resources from '@opentelemetry/resources'
import type * as sdk from '@opentelemetry/sdk-trace-base'

/** OpenTelemetry libraries, loaded on demand. */
export interface OtlpLibraries {
  readonly api: Omit<typeof api, 'default'>
  readonly exporter: typeof exporter
  readonly resources: typeof resources
  readonly sdk: typeof sdk
}

/** @throws {Error} if they are not installed. */
export async function loadOtlpLibraries(): Promise<OtlpLibraries> {
  try {
    const [api, exporter, resources, sdk] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/sdk-trace-base'),
    ])
    return { api, exporter, resources, sdk }
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new Error(
      'OTEL_EXPORTER_OTLP_ENDPOINT is set, but the trace export libraries are not installed: install mx without --omit=optional, or unset it',
      { cause },
    )
  }
}
