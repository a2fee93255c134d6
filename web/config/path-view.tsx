import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { reindentJson } from '../../core/request/json/reindent-json.ts'
import { CopyButton } from '../components/copy-button.tsx'
import { Confirm } from '../components/dialog/confirm.tsx'
import { Empty } from '../components/states.tsx'
import { showToast } from '../components/toast.tsx'
import { deleteValue } from './service.ts'
import { type ConfigNode, formatNode } from './tree.ts'
import { ValueEditor } from './value-editor.tsx'

export interface PlaceProps {
  readonly path: string
  /** Undefined: nothing is there. */
  readonly node: ConfigNode | undefined
  readonly onDeleted: () => void
}

/** A value, or all that is below a path. */
export function Place({ path, node, onDeleted }: PlaceProps): JSX.Element {
  const [isAsking, setAsking] = useState(false)
  if (node === undefined)
    return <Empty title={`${path} is not there`}>It was deleted, or never set.</Empty>
  return (
    <>
      <div class="config-head">
        <h2 class="code">{path}</h2>
        <CopyButton text={path} label="Copy path" />
        <button type="button" class="danger" onClick={() => setAsking(true)}>
          Delete
        </button>
      </div>
      {node.kind === 'value' ? <ValueEditor path={path} node={node} /> : <Subtree node={node} />}
      {isAsking && (
        <Confirm
          title={`Delete ${path}?`}
          action="Delete"
          dangerous
          onConfirm={async () => {
            const version = await deleteValue(path)
            showToast(`${path} was deleted: version ${version}`)
            onDeleted()
          }}
          onClose={() => setAsking(false)}
        >
          <p>
            {node.kind === 'map' ? 'All that is below it goes, too. ' : ''}The history keeps it:
            rolling back brings it back.
          </p>
        </Confirm>
      )}
    </>
  )
}

function Subtree({ node }: { readonly node: ConfigNode }): JSX.Element {
  const text = reindentJson(formatNode(node), '  ')
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1)
    <section class="config-subtree" tabIndex={0} aria-label="All that is below it">
      <pre>{text}</pre>
    </section>
  )
}
