// SPDX-FileCopyrightText: The gpuops.reservations contributors
// SPDX-License-Identifier: GPL-3.0-or-later

//go:build tools

package main

// KWOK is a program of its own (its flags and the components' collide); this
// keeps it in the module, so that the client libraries compile once for both.
import _ "sigs.k8s.io/kwok/cmd/kwok"
