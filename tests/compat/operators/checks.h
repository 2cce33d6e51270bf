// Prints the texts of checks and of what the dispatcher refuses.
#pragma once

void showChecks();
