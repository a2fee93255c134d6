import type { ComponentChildren, JSX, TargetedKeyboardEvent } from 'preact'
import { useState } from 'preact/hooks'

export interface TreeNode {
  /** Id, unique within the tree. */
  readonly id: string
  readonly label: ComponentChildren
  /** Secondary text. */
  readonly detail?: ComponentChildren
  /** Child nodes; undefined for a leaf. */
  readonly children?: readonly TreeNode[]
}

export interface TreeProps {
  readonly label: string
  readonly nodes: readonly TreeNode[]
  readonly selected?: string
  readonly onSelect?: (id: string) => void
  /** Number of levels expanded initially. @default 1 */
  readonly open?: number
}

/** Tree view. Enter or a click selects; arrow keys move, expand (right) and collapse (left). */
export function Tree({ label, nodes, selected, onSelect, open = 1 }: TreeProps): JSX.Element {
  /** Nodes whose state differs from the initial one. */
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set())
  const toggle = (id: string): void =>
    setToggled((before) => {
      const next = new Set(before)
      if (!next.delete(id)) next.add(id)
      return next
    })
  const isOpen = (node: TreeNode, depth: number): boolean => depth < open !== toggled.has(node.id)
  const first = selected ?? nodes[0]?.id
  const render = (node: TreeNode, depth: number): JSX.Element => {
    const { children } = node
    const opened = children === undefined ? undefined : isOpen(node, depth)
    return (
      <li key={node.id} role="none">
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys of its items */}
        <div
          role="treeitem"
          class="tree-item"
          data-id={node.id}
          aria-level={depth + 1}
          aria-expanded={opened}
          aria-selected={node.id === selected}
          tabIndex={node.id === first ? 0 : -1}
          style={{ paddingInlineStart: `${depth * 16 + 4}px` }}
          onClick={() => {
            if (children !== undefined) toggle(node.id)
            onSelect?.(node.id)
          }}
        >
          <span class="tree-mark" aria-hidden="true">
            {opened === undefined ? '' : opened ? '▾' : '▸'}
          </span>
          <span class="tree-label">{node.label}</span>
          {node.detail !== undefined && <span class="tree-detail">{node.detail}</span>}
        </div>
        {opened === true && (
          // biome-ignore lint/a11y/useSemanticElements: the group of a tree
          <ul role="group">{children!.map((child) => render(child, depth + 1))}</ul>
        )}
      </li>
    )
  }
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLElement>): void => {
    const items = [...event.currentTarget.querySelectorAll<HTMLElement>('[role=treeitem]')]
    const at = items.indexOf(event.target as HTMLElement)
    const item = items[at]
    if (item === undefined) return
    const expanded = item.getAttribute('aria-expanded')
    const { id = '' } = item.dataset
    switch (event.key) {
      case 'ArrowDown':
        focus(items[at + 1])
        break
      case 'ArrowUp':
        focus(items[at - 1])
        break
      case 'Home':
        focus(items[0])
        break
      case 'End':
        focus(items.at(-1))
        break
      case 'ArrowRight':
        if (expanded === 'false') toggle(id)
        else if (expanded === 'true') focus(items[at + 1])
        break
      case 'ArrowLeft':
        if (expanded === 'true') toggle(id)
        else focus(findParent(items, at))
        break
      case 'Enter':
      case ' ':
        onSelect?.(id)
        break
      default:
        return
    }
    event.preventDefault()
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: without its roles, a tree would be a list
    <ul class="tree" role="tree" aria-label={label} onKeyDown={onKeyDown}>
      {nodes.map((node) => render(node, 0))}
    </ul>
  )
}

/** Moves the focus (roving tabindex). */
function focus(item: HTMLElement | undefined): void {
  if (item === undefined) return
  for (const previous of item.closest('[role=tree]')!.querySelectorAll('[tabindex="0"]'))
    previous.setAttribute('tabindex', '-1')
  item.setAttribute('tabindex', '0')
  item.focus()
}

function findParent(items: readonly HTMLElement[], at: number): HTMLElement | undefined {
  const level = Number(items[at]!.getAttribute('aria-level'))
  return items.slice(0, at).findLast((item) => Number(item.getAttribute('aria-level')) < level)
}
