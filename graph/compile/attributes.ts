/** Attributes of ONNX nodes with their defaults. */
import type { OnnxNode } from '../onnx/model.js';

export function numberAttribute(node: OnnxNode, name: string, fallback: number): number {
  const value = node.attributes.get(name);
  return typeof value === 'number' ? value : fallback;
}

export function numbersAttribute(node: OnnxNode, name: string): readonly number[] | null {
  const value = node.attributes.get(name);
  return Array.isArray(value) && value.every((v) => typeof v === 'number') ? (value as readonly number[]) : null;
}

export function stringAttribute(node: OnnxNode, name: string, fallback: string): string {
  const value = node.attributes.get(name);
  return typeof value === 'string' ? value : fallback;
}
