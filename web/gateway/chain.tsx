import type { JSX } from 'preact'
import type { PluginMessage } from '../../services/gateway/messages.ts'
import { Badge } from '../components/badge.tsx'
import { CallStatus } from '../components/call-status.tsx'
import { Empty } from '../components/states.tsx'
import { JsonView } from '../components/tree/json-view.tsx'
import { useCall } from '../hooks/use-call.ts'
import { usePolling } from '../hooks/use-polling.ts'
import { call } from '../rpc/caller.ts'

const REFRESH_MS = 15_000

/** Plugin chain of the gateway, in order of execution. */
export function Chain(): JSX.Element {
  const read = useCall(
    (signal) =>
      call<{ plugins: readonly PluginMessage[] }>('api', 'Api.Plugins', {}, { signal }).then(
        ({ body }) => body.plugins,
      ),
    [],
  )
  const { value } = read
  usePolling(read, REFRESH_MS)
  return (
    <div class="gateway-tab">
      <CallStatus call={read} subject="gateway plugins" />
      {value?.length === 0 && <Empty title="No plugins" />}
      <ol class="chain" aria-label="Plugins in order of execution">
        {value?.map((plugin) => (
          <Plugin key={plugin.specifier} plugin={plugin} />
        ))}
      </ol>
    </div>
  )
}

function Plugin({ plugin }: { readonly plugin: PluginMessage }): JSX.Element {
  const { name, description, source, specifier, hooks, options } = plugin
  return (
    <li class="card chain-plugin">
      <div class="chain-head">
        <h2>{name}</h2>
        {hooks.map((hook) => (
          <Badge key={hook}>{hook}</Badge>
        ))}
        <span class="chain-source muted small">
          {source}
          {specifier !== name && (
            <>
              , <code>{specifier}</code>
            </>
          )}
        </span>
      </div>
      {description !== '' && <p>{description}</p>}
      {Object.keys(options).length > 0 && (
        <details>
          <summary>Options of {name}</summary>
          <JsonView value={options} fileName={`${name}.json`} />
        </details>
      )}
    </li>
  )
}
