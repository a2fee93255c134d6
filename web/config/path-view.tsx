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

export interface PathViewProps {
  readonly path: string
  /** Node at the path; undefined if the path does not exist. */
  readonly node: ConfigNode | undefined
  readonly onDeleted: () => void
}

/** The value or subtree at a path. */
export function PathView({ path, node, onDeleted }: PathViewProps): JSX.Element {
  const [isConfirming, setConfirming] = useState(false)
  if (node === undefined)
    return <Empty title={`${path} not found`}>It was deleted or never set.</Empty>
  return (
    <>
      <div class="config-head">
        <h2 class="code">{path}</h2>
        <CopyButton text={path} label="Copy path" />
        <button type="button" class="danger" onClick={() => setConfirming(true)}>
          Delete
        </button>
      </div>
      {node.kind === 'value' ? <ValueEditor path={path} node={node} /> : <Subtree node={node} />}
      {isConfirming && (
        <Confirm
          title={`Delete ${path}?`}
          action="Delete"
          dangerous
          onConfirm={async () => {
            const version = await deleteValue(path)
            showToast(`${path} deleted in version ${version}`)
            onDeleted()
          }}
          onClose={() => setConfirming(false)}
        >
          <p>
            {node.kind === 'map' ? 'Deletes the entire subtree. ' : ''}A rollback in the history
            restores it.
          </p>
        </Confirm>
      )}
    </>
  )
}

function Subtree({ node }: { readonly node: ConfigNode }): JSX.Element {
  const text = reindentJson(formatNode(node), '  ')
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable elements must be reachable by keyboard (WCAG 2.1.1)
    <section class="config-subtree" tabIndex={0} aria-label="Subtree">
      <pre>{text}</pre>
    </section>
  )
}
